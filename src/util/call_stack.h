/* SPDX-License-Identifier: MIT */
/*
 * Call stacks: their location in memory, the space that is left on them, and their return
 * addresses.
 */
#ifndef QMPI_UTIL_CALL_STACK_H
#define QMPI_UTIL_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Memory -------------------------------------------------------------------------------------
 */

/*
 * These functions read /proc/self/maps, which takes about a microsecond for each mapping before the
 * one that is sought. They may be called by any thread, also in a signal handler; the query of the
 * C library uses malloc.
 */

struct qmpi_call_stack {
    uintptr_t begin, end; /* both 0: unknown */
};

/* Returns the stack that contains an address. That of the first thread begins at the lowest address
 * to which it may grow.
 */
struct qmpi_call_stack qmpi_call_stack_find(uintptr_t address);

/* Whether an address is in memory that can be read and written, as stacks are. */
bool qmpi_call_stack_may_contain(uintptr_t address);

/* Returns the stack with which this thread started. */
struct qmpi_call_stack qmpi_call_stack_of_thread(void);

/* Stores the absolute path, without symbolic links, of the file that is mapped at an address; cut
 * to the size. False: there is none, or it is not known. */
bool qmpi_call_stack_mapped_file(uintptr_t address, char *path, size_t size);

/* ---- Room ---------------------------------------------------------------------------------------
 */

/*
 * Runs work that needs more stack than MPI does, such as reading debug information or writing
 * reports: threads of the program may have small stacks. Calls function(data): directly if at least
 * half a MiB is left on the stack, otherwise in a new thread, for which it waits. In that thread,
 * all signals except those of faults are blocked. `function` makes no MPI calls. Returns false if
 * memory is exhausted: `function` was not called, or was left as by qmpi_memory_catch_exhausted.
 * Any thread; not in a signal handler.
 */
bool qmpi_call_stack_run(void (*function)(void *data), void *data);

/* ---- Return addresses ---------------------------------------------------------------------------
 */

/* Does what qmpi_call_stack_unwind does; returns -1 if it cannot. */
typedef int qmpi_call_stack_unwinder(void **frames, int capacity);

/* Sets the function that walks up the stack. Called by a constructor. */
void qmpi_call_stack_use(qmpi_call_stack_unwinder *walk);

/* Prepares qmpi_call_stack_unwind; called during start-up. */
void qmpi_call_stack_prepare(void);

/* Stores up to `capacity` return addresses of the call stack, innermost first, and returns their
 * number. They are found by the function of qmpi_call_stack_use (sites/walk.c), which reads only
 * the stack and checks all tables, or, if the bounds of the stack are unknown, by backtrace of the
 * C library. The first addresses are in qmpi_call_stack_unwind and in the calling function, or in
 * the functions into which they were inlined. */
int qmpi_call_stack_unwind(void **frames, int capacity);

#endif
