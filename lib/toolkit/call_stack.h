/* SPDX-License-Identifier: MIT */
/* Where this thread's stack is: what the C library knows of it, it tells with the help of malloc.
 */
#ifndef QMPI_TOOLKIT_CALL_STACK_H
#define QMPI_TOOLKIT_CALL_STACK_H

#include <stdint.h>

struct thread_stack {
    uintptr_t begin, end; /* both 0: it cannot be told */
};

/* Reads it from /proc/self/maps. In a signal handler too. Some ten microseconds. */
struct thread_stack thread_stack_find(void);

#endif
