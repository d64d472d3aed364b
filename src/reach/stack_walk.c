/* SPDX-License-Identifier: MIT */
/* See stack_walk.h. */
#define _GNU_SOURCE
#include "stack_walk.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

typedef int unwinder(void **frames, int capacity);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unwinder *chosen = backtrace;

static void choose(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
    void *found = library ? dlsym(library, "unw_backtrace") : NULL;
    if (found)
        memcpy(&chosen, &found, sizeof chosen);
}

int qmpi_unwind(void **frames, int capacity)
{
    pthread_once(&once, choose);
    return chosen(frames, capacity);
}
