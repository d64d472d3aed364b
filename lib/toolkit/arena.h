/* SPDX-License-Identifier: MIT */
/*
 * Memory for what tools note on the way of a call: taken without a lock and without malloc, for a
 * signal may have struck the program in malloc, and its handler may call MPI. It is zero, aligned
 * to a cache line, and never given back.
 */
#ifndef QMPI_TOOLKIT_ARENA_H
#define QMPI_TOOLKIT_ARENA_H

#include <stddef.h>

/* NULL: memory is out. Any thread, in a signal handler too. */
void *tool_memory_take(size_t size);

#endif
