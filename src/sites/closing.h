/* SPDX-License-Identifier: MIT */
/*
 * What is remembered of code must be forgotten when its library is closed: another one may be
 * mapped at the same address. Therefore libqmpi exports dlclose, which forgets after the C
 * library's has returned. Meanwhile, nothing that is remembered is used. See dlclose.c.
 */
#ifndef QMPI_SITES_CLOSING_H
#define QMPI_SITES_CLOSING_H

#include <stdatomic.h>
#include <stdbool.h>

/* Whether all calls of dlclose come here. Not in libqmpi.a, nor where libqmpi itself was opened
 * with dlopen. */
bool qmpi_closing_is_seen(void);

/* How many threads are in dlclose. Nobody who calls from a library that was mapped since finds what
 * is remembered of the one before. */
extern atomic_int qmpi_closing_count __attribute__((visibility("hidden")));

/* Whether a library is being closed. Any thread. */
static inline bool qmpi_closing(void)
{
    return atomic_load_explicit(&qmpi_closing_count, memory_order_acquire) != 0;
}

#endif
