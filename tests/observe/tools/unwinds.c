/* SPDX-License-Identifier: MIT */
/* Preloaded before libqmpi, to count how often libqmpi calls the C library's unwinder. */
#define _GNU_SOURCE
#include "trace.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

__attribute__((visibility("default"))) int backtrace(void **addresses, int capacity);

static int count;

int backtrace(void **addresses, int capacity)
{
    static int (*real)(void **, int);
    Dl_info info;
    if (!real)
        real = (int (*)(void **, int))(uintptr_t)dlsym(RTLD_NEXT, "backtrace");
    /* libqmpi passes a capacity of 1 only to load the unwinder. */
    if (capacity > 1 && dladdr(__builtin_return_address(0), &info) &&
        strstr(info.dli_fname, "libqmpi"))
        count++;
    return real(addresses, capacity);
}

__attribute__((destructor)) static void print(void)
{
    trace("%d unwound", count);
}
