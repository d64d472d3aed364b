/* SPDX-License-Identifier: MIT */
/*
 * See unwind.h. libunwind is loaded when it is first wanted. Nobody waits for who loads it: a
 * signal handler may have interrupted that, or left it by longjmp, or a child may have been forked
 * meanwhile. Until it is there the C library's backtrace is used, which is prepared in start-up.
 */
#define _GNU_SOURCE
#include "util/unwind.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef int unwinder(void **frames, int capacity);

static _Atomic(unwinder *) chosen = backtrace;
static atomic_flag begun = ATOMIC_FLAG_INIT;

static void choose(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
    void *found = library ? dlsym(library, "unw_backtrace") : NULL;
    if (found)
        atomic_store(&chosen, (unwinder *)(uintptr_t)found);
}

void qmpi_unwind_prepare(void)
{
    void *frame;
    backtrace(&frame, 1); /* it loads a library the first time, under a lock */
}

int qmpi_unwind(void **frames, int capacity)
{
    if (!atomic_flag_test_and_set(&begun))
        choose();
    return atomic_load(&chosen)(frames, capacity);
}
