/* SPDX-License-Identifier: MIT */
/* A wrapper of malloc like those of memory tools. It looks up the next malloc by RTLD_NEXT, and
 * prints at exit whether it was called and which library contains the next malloc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void *malloc(size_t size);

static void *(*_Atomic next)(size_t);
static atomic_long calls;

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    if (!next)
        next = (void *(*)(size_t))(uintptr_t)dlsym(RTLD_NEXT, "malloc");
    atomic_fetch_add(&calls, 1);
    return next(size);
}

__attribute__((destructor)) static void leave(void)
{
    Dl_info info;
    if (next && dladdr((const void *)(uintptr_t)next, &info))
        dprintf(2, "trace: malloc %s, next in %s\n", calls > 0 ? "called" : "not called",
                strrchr(info.dli_fname, '/') + 1);
}
