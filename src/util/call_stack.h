/* SPDX-License-Identifier: MIT */
/*
 * The memory of call stacks, read from /proc/self/maps, which takes some ten microseconds. The C
 * library's query of it uses malloc, so it is not used here. Any thread, also in a signal handler.
 */
#ifndef QMPI_UTIL_CALL_STACK_H
#define QMPI_UTIL_CALL_STACK_H

#include <stdint.h>

struct qmpi_stack {
    uintptr_t begin, end; /* both 0: unknown */
};

/* Returns the stack that contains an address. That of the first thread begins where it may grow to.
 */
struct qmpi_stack qmpi_stack_find(uintptr_t address);

/* Returns the stack with which this thread started. */
struct qmpi_stack qmpi_stack_of_thread(void);

#endif
