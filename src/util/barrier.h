/* SPDX-License-Identifier: MIT */
/*
 * A barrier between what is published and the pointer that publishes it, for pointers that are
 * loaded by code whose instructions cannot request an order: the linker's code through which
 * libraries call functions of others (PLT), and the entry points, which are to cost one jump.
 * Elsewhere, the reader's load with acquire order is enough.
 */
#ifndef QMPI_UTIL_BARRIER_H
#define QMPI_UTIL_BARRIER_H

#include "util/arch/order.h"

/*
 * Makes each thread of the process that is running pass a barrier. Returns false if the system
 * offers no call for this (Linux before 4.3, or a filter of system calls); nothing has happened
 * then. It takes microseconds. Async-signal-safe.
 */
bool qmpi_barrier_interrupt_threads(void);

/*
 * After this, this thread may store pointers to what it has stored before, even in places from
 * which other threads load with relaxed order: a thread that sees the pointer sees the rest, too.
 */
static inline void qmpi_barrier_publish(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!QMPI_ORDERS_LOADS)
        qmpi_barrier_interrupt_threads();
}

#endif
