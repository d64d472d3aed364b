/* SPDX-License-Identifier: MIT */
/*
 * A barrier between storing data and storing the pointer that publishes it. It is needed for
 * pointers that are loaded by code that requests no order: the linker's code through which
 * libraries call functions of others (PLT), the entry points, which are to cost one jump, and code
 * on the way from one layer to the next, where acquire order would take another instruction.
 * Elsewhere, readers load the pointer with acquire order, and need no barrier.
 */
#ifndef QMPI_UTIL_BARRIER_H
#define QMPI_UTIL_BARRIER_H

#include "util/arch/order.h"

/*
 * Makes each running thread of the process pass a barrier. Takes microseconds. Returns false, and
 * does nothing, if the system offers no call for this (Linux before 4.3, or a filter of system
 * calls). Async-signal-safe.
 */
bool qmpi_barrier_interrupt_threads(void);

/*
 * After this call, this thread may store pointers to data that it has stored before the call, even
 * in places from which other threads load with relaxed order. A thread that sees such a pointer
 * also sees the data, unless the system lacks the barrier that this processor needs.
 */
static inline void qmpi_barrier_publish(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!QMPI_ORDERS_LOADS)
        qmpi_barrier_interrupt_threads();
}

#endif
