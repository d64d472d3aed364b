/* SPDX-License-Identifier: MIT */
/*
 * Memory that is never freed, for the data of a stack. Building a stack takes hundreds of pages;
 * allocating many at a time avoids a page fault for each.
 */
#ifndef QMPI_UTIL_PERMANENT_H
#define QMPI_UTIL_PERMANENT_H

#include <stddef.h>

/*
 * Returns zeroed memory for `count` elements; terminates the process with a message if memory is
 * exhausted. Called during start-up or under the lock of startup/switch.c. Do not store the only
 * pointer to memory of malloc here: leak checkers do not search this memory.
 */
void *qmpi_permanent_alloc(size_t count, size_t size);

#endif
