/* SPDX-License-Identifier: MIT */
/*
 * See unwind.h. Nothing is loaded by qmpi_unwind itself: a signal handler may leave a call by
 * longjmp, and would leave the loader in the middle of its work.
 */
#define _GNU_SOURCE
#include "util/unwind.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int unwinder(void **frames, int capacity);

static _Atomic(unwinder *) chosen = backtrace;
static atomic_bool prepared;
static atomic_flag loaded = ATOMIC_FLAG_INIT;

void qmpi_unwind_load(void)
{
    if (!atomic_load(&prepared) || atomic_flag_test_and_set(&loaded))
        return;
    void *library = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
    void *found = library ? dlsym(library, "unw_backtrace") : NULL;
    if (found)
        atomic_store(&chosen, (unwinder *)(uintptr_t)found);
}

/* Another thread of the parent may have held the locks of libunwind. */
static void after_fork_in_child(void)
{
    atomic_store(&chosen, backtrace);
}

void qmpi_unwind_prepare(void)
{
    void *frame;
    backtrace(&frame, 1); /* it loads a library the first time, under a lock */
    pthread_atfork(NULL, NULL, after_fork_in_child);
    atomic_store(&prepared, true);
}

int qmpi_unwind(void **frames, int capacity)
{
    return atomic_load(&chosen)(frames, capacity);
}
