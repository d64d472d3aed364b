/* SPDX-License-Identifier: MIT */
/*
 * Memory that is kept for the whole run: what a stack is made of. A stack takes hundreds of pages
 * in start-up; here they come many at a time, where each would else cost a page fault.
 */
#ifndef QMPI_UTIL_PERMANENT_H
#define QMPI_UTIL_PERMANENT_H

#include <stddef.h>

/*
 * Zeroed memory for `count` elements; ends the process with a message where memory is out. In
 * start-up or under startup/switch.c's lock. Not for the only pointer to memory of malloc: leak
 * checkers do not look here.
 */
void *qmpi_permanent_alloc(size_t count, size_t size);

#endif
