/* SPDX-License-Identifier: MIT */
/* The stack of this thread. The C library's query of it uses malloc, so it is not used here.
 */
#ifndef QMPI_TOOLKIT_CALL_STACK_H
#define QMPI_TOOLKIT_CALL_STACK_H

#include <stdint.h>

struct thread_stack {
    uintptr_t begin, end; /* both 0: unknown */
};

/* Reads the range from /proc/self/maps. Also in a signal handler. Takes some ten microseconds. */
struct thread_stack thread_stack_find(void);

#endif
