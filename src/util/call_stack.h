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

/* ---- Memory ---------------------------------------------------------------------------------- */

/*
 * These functions read /proc/self/maps, which takes about a microsecond for each mapping before the
 * one that is sought. They may be called by any thread, also in a signal handler. The C library's
 * own query for a stack uses malloc, and may not be called there.
 */

struct qmpi_call_stack {
    uintptr_t begin, end; /* both 0: unknown */
};

/* Returns the mapping that contains an address, such as a stack. The stack of the first thread
 * begins at the lowest address to which it may grow. */
struct qmpi_call_stack qmpi_call_stack_find(uintptr_t address);

/* Returns whether an address is in memory that can be read and written, as stacks are. */
bool qmpi_call_stack_may_contain(uintptr_t address);

/* Returns the stack with which this thread started. */
struct qmpi_call_stack qmpi_call_stack_of_thread(void);

/* Stores the absolute path, without symbolic links, of the file that is mapped at an address. A
 * longer path than `size` allows is cut off. Returns false if there is no file or it is not
 * known. */
bool qmpi_call_stack_mapped_file(uintptr_t address, char *path, size_t size);

/* ---- Room ------------------------------------------------------------------------------------ */

/*
 * These functions run work that needs more stack than MPI does, because threads of the program may
 * have small stacks, and handlers of signals smaller ones. If at least half a MiB is left on the
 * stack, they call function(data) directly. The stack of the first thread then already extends so
 * far, so that the work can use it also if the address space is exhausted. Any thread may call
 * these functions, but no signal handler that has interrupted malloc.
 */

/*
 * For work while the program runs, such as reading debug information or writing reports. If the
 * stack is too small, calls function(data) in a new thread, and waits for that thread. In the new
 * thread, all signals except those of faults are blocked. `function` must not make MPI calls.
 * Returns false if memory is exhausted or no thread can be created. `function` was then not called,
 * or was left as by qmpi_memory_catch_exhausted.
 */
bool qmpi_call_stack_run(void (*function)(void *data), void *data);

/* For work that must be done, and in this thread. If the stack is too small, this thread calls
 * function(data) on a new stack, unless there is no memory for one. The unwinder finds the callers
 * of `function` on the old stack. */
void qmpi_call_stack_run_here(void (*function)(void *data), void *data);

/* If this is the first thread, lets its stack grow by a MiB. If the address space is exhausted
 * later, qmpi_call_stack_run then has room all the same. Only address space is used. */
void qmpi_call_stack_extend(void);

/* ---- Return addresses ------------------------------------------------------------------------ */

/* Does the same as qmpi_call_stack_unwind, but returns -1 if the bounds of the stack are
 * unknown. */
typedef int qmpi_call_stack_unwinder(void **frames, int capacity);

/* Sets the function that walks up the stack. Called by a constructor. */
void qmpi_call_stack_use(qmpi_call_stack_unwinder *walk);

/* Prepares qmpi_call_stack_unwind; called during start-up. */
void qmpi_call_stack_prepare(void);

/* Stores up to `capacity` return addresses of the call stack, innermost first, and returns their
 * number. They are found by the function of qmpi_call_stack_use (sites/walk.c), which reads only
 * the stack and the tables of objects, and checks these tables. If the bounds of the stack are
 * unknown, backtrace of the C library finds them. The first addresses are in qmpi_call_stack_unwind
 * and in the calling function, or in the functions into which they were inlined. */
int qmpi_call_stack_unwind(void **frames, int capacity);

#endif
