/* SPDX-License-Identifier: MIT */
/* The order of memory accesses, for each processor. */
#ifndef QMPI_UTIL_ARCH_ORDER_H
#define QMPI_UTIL_ARCH_ORDER_H

#include <stdbool.h>

/*
 * Whether all threads see the stores of a thread in the order of its program, even if they load
 * with instructions that request no order. Then, if a thread jumps through a pointer, the data that
 * it loads at the target is at least as new as the pointer. See util/barrier.h.
 */
#if defined(__x86_64__)
enum { QMPI_ORDERS_LOADS = true };
#else
enum { QMPI_ORDERS_LOADS = false };
#endif

#endif
