/* SPDX-License-Identifier: MIT */
/* Where this thread's stack is: what the C library knows of it, it tells with the help of malloc.
 */
#ifndef QMPI_OWN_STACK_H
#define QMPI_OWN_STACK_H

#include <stdint.h>

struct own_stack {
    uintptr_t begin, end; /* both 0: it cannot be told */
};

/* Reads it from /proc/self/maps. In a signal handler too. Some ten microseconds. */
struct own_stack own_stack_find(void);

#endif
