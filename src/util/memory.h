/* SPDX-License-Identifier: MIT */
/*
 * Memory. Unless the comment of a function says otherwise, any thread may call it, but no signal
 * handler, and the caller frees what it returns.
 */
#ifndef QMPI_UTIL_MEMORY_H
#define QMPI_UTIL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* ---- Memory that is there, or the process ends ----------------------------------------------- */

/* Like asprintf, but returns the text, and calls qmpi_memory_exhausted if memory is exhausted. */
char *qmpi_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a message and ends the process, unless qmpi_memory_catch_exhausted is in progress. */
_Noreturn void qmpi_memory_exhausted(void);

/*
 * Calls function(data). If memory is exhausted, `function` is left, and false is returned. Memory
 * that `function` has allocated and locks that it has taken are then not released. This is for work
 * while the program runs, which must not end the program because of a lack of memory. Only calls of
 * qmpi_memory_exhausted in this thread, and in this library or tool, are caught.
 */
bool qmpi_memory_catch_exhausted(void (*function)(void *data), void *data);

/* Returns whether qmpi_memory_catch_exhausted is in progress in this thread. */
bool qmpi_memory_catches_exhausted(void);

/*
 * Calls function(data), and then `release`, which releases a lock that the caller holds. If memory
 * is exhausted in `function`, also calls `release`, and then continues like qmpi_memory_exhausted.
 */
void qmpi_memory_call_locked(void (*function)(void *data), void *data, void (*release)(void));

/* Like calloc, strdup and strndup, but call qmpi_memory_exhausted if memory is exhausted. */
void *qmpi_allocate(size_t count, size_t size);
char *qmpi_copy(const char *text);
char *qmpi_copy_part(const char *text, size_t length);

/*
 * Returns an array with room for one more than `count` elements of `size` bytes. This is `array`
 * itself, or a larger copy that replaces it, and `array` is then freed. `array` is NULL if `count`
 * is 0. The capacity of the array is the next power of two. Calls qmpi_memory_exhausted if memory
 * is exhausted.
 */
void *qmpi_memory_grow(void *array, int count, size_t size);

/* ---- Arrays that survive lack of memory ------------------------------------------------------ */

/*
 * Makes room for `count` elements in an array. `array` is the variable that points to the array,
 * which malloc has allocated, or NULL. `room` is a size_t variable that contains the number of
 * elements for which there is room. It grows to the next power of two, at least 4. New elements are
 * zero. Returns false, and changes nothing, if memory is exhausted.
 */
#define QMPI_MEMORY_RESERVE(array, room, count)                                                    \
    qmpi_memory_reserve(&(array), &(room), count, sizeof *(array))
bool qmpi_memory_reserve(void *array, size_t *room, size_t count, size_t size);

/* ---- Memory of others ------------------------------------------------------------------------ */

/* Returns whether memory is mapped and can be read. Does not change errno. Signal handlers may call
 * this. */
bool qmpi_memory_can_be_read(const void *address, size_t size);

/* ---- Memory that is never freed -------------------------------------------------------------- */

/*
 * Returns zeroed memory for data that is recorded during a call, or NULL if memory is exhausted.
 * The memory is allocated without a lock and without malloc, because a signal may interrupt the
 * program in malloc, and its handler may call MPI. The memory is aligned to a cache line. Signal
 * handlers may call this.
 */
void *qmpi_memory_take(size_t size);

/*
 * Returns zeroed memory for `count` elements of data about the layers of the stack. Building the
 * stack takes hundreds of pages. This function allocates many pages at a time, which avoids a page
 * fault for each. Calls qmpi_memory_exhausted if memory is exhausted. Called during start-up, or
 * between qmpi_chain_hold and qmpi_chain_release. Do not store the only pointer to memory of malloc
 * in this memory, because leak checkers do not search it.
 */
void *qmpi_memory_permanent(size_t count, size_t size);

#endif
