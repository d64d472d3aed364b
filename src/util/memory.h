/* SPDX-License-Identifier: MIT */
/*
 * Memory. Unless the comment of a function says otherwise, it may be called by any thread, but not
 * in a signal handler, and frees what it replaces; the caller frees what it returns.
 */
#ifndef QMPI_UTIL_MEMORY_H
#define QMPI_UTIL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* ---- Memory that is there, or the process ends ----------------------------------------------- */

/* Like asprintf, but terminates the process with a message if memory is exhausted. */
char *qmpi_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a message and terminates the process, unless qmpi_memory_catch_exhausted is in progress.
 */
_Noreturn void qmpi_memory_exhausted(void);

/*
 * Calls function(data). Returns false if memory was exhausted: the call was left then, and what it
 * had allocated stays allocated. Locks that it takes are not released. It is used for work during
 * the run of the program, which must not end because of a lack of memory. It catches only the calls
 * of this thread, and of this library or tool.
 */
bool qmpi_memory_catch_exhausted(void (*function)(void *data), void *data);

/* Whether qmpi_memory_catch_exhausted is in progress in this thread. */
bool qmpi_memory_catches_exhausted(void);

/*
 * Calls function(data) while the caller holds a lock, and then `release`, which releases it: even
 * if memory was exhausted. In that case, it then continues like qmpi_memory_exhausted.
 */
void qmpi_memory_call_locked(void (*function)(void *data), void *data, void (*release)(void));

/* Like calloc, strdup and strndup, but terminate the process with a message if memory is exhausted.
 */
void *qmpi_allocate(size_t count, size_t size);
char *qmpi_copy(const char *text);
char *qmpi_copy_part(const char *text, size_t length);

/*
 * Returns an array with room for one more than `count` elements of `size` bytes: `array` itself
 * (NULL: none yet), or a larger copy that replaces it. The capacity is the next power of two.
 */
void *qmpi_memory_grow(void *array, int count, size_t size);

/* ---- Arrays that survive lack of memory ------------------------------------------------------ */

/*
 * Makes room for `count` elements in an array that malloc has allocated, or that is NULL. `array`
 * is the variable that points to it, and `room` the size_t variable with the number of elements
 * for which it has room, which grows to the next power of two, at least 4. New elements are zero.
 * Returns false, and changes nothing, if memory is exhausted.
 */
#define QMPI_MEMORY_RESERVE(array, room, count)                                                    \
    qmpi_memory_reserve(&(array), &(room), count, sizeof *(array))
bool qmpi_memory_reserve(void *array, size_t *room, size_t count, size_t size);

/* ---- Memory of others ------------------------------------------------------------------------ */

/* Whether memory is mapped and can be read. Keeps errno. Signal handlers may call this. */
bool qmpi_memory_can_be_read(const void *address, size_t size);

/* ---- Memory that is never freed -------------------------------------------------------------- */

/*
 * Returns zeroed memory for data that tools record during a call; NULL: memory is exhausted. It is
 * allocated without a lock and without malloc, because a signal may interrupt the program in
 * malloc, and its handler may call MPI. It is aligned to a cache line. Signal handlers may call
 * this.
 */
void *qmpi_memory_take(size_t size);

/*
 * Returns zeroed memory for `count` elements of the data of a stack. Building a stack takes
 * hundreds of pages; allocating many at a time avoids a page fault for each. Terminates the process
 * with a message if memory is exhausted. Called during start-up or under the lock of
 * startup/switch.c. Do not store the only pointer to memory of malloc here: leak checkers do not
 * search this memory.
 */
void *qmpi_memory_permanent(size_t count, size_t size);

#endif
