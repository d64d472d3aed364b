/* SPDX-License-Identifier: MIT */
/*
 * Memory for data that tools record during a call. It is allocated without a lock and without
 * malloc, because a signal may interrupt the program in malloc, and its handler may call MPI. The
 * memory is zeroed, aligned to a cache line, and never freed.
 */
#ifndef QMPI_UTIL_ARENA_H
#define QMPI_UTIL_ARENA_H

#include <stddef.h>

/* Returns NULL if memory is exhausted. Any thread, also in a signal handler. */
void *qmpi_arena_take(size_t size);

#endif
