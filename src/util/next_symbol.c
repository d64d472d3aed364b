/* SPDX-License-Identifier: MIT */
/*
 * See next_symbol.h. libqmpi interposes dlsym, and so may other libraries. If dlsym is called
 * through another one of these, RTLD_NEXT means the definition after that one. Therefore, this file
 * calls dlsym of the C library, which it finds by dlvsym. It does not find the other functions by
 * dlvsym, which passes over definitions without a version if their library has any versions. This
 * is so in nearly all libraries that interpose a function.
 */
#define _GNU_SOURCE
#include "util/next_symbol.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

/* Versions of the functions in glibc. They depend on the processor, and on whether the release has
 * moved the function to libc. */
static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27",
                                       "GLIBC_2.11"};

EARLY static void *find_version(void *where, const char *name)
{
    enum { COUNT = sizeof versions / sizeof *versions };
    /* Starts with the most likely version, because the look-up of a missing version takes longer.
     * GLIBC_2.34 is that of functions that were in libdl before. */
    const size_t first = name[0] == 'd' && name[1] == 'l' ? 0 : 1;
    void *found = NULL;
    for (size_t i = 0; !found && i < COUNT; i++)
        found = dlvsym(where, name, versions[(first + i) % COUNT]);
    return found;
}

EARLY qmpi_next_symbol_finder *qmpi_next_symbol_dlsym(void)
{
    /* Each thread that finds it empty stores the same function, which has existed since the process
     * was started, so relaxed order suffices. */
    static qmpi_next_symbol_finder *known;
    qmpi_next_symbol_finder *function = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!function) {
        void *found = find_version(RTLD_NEXT, "dlsym");
        if (!found)
            found = find_version(RTLD_DEFAULT, "dlsym");
        function = (qmpi_next_symbol_finder *)(uintptr_t)found;
        __atomic_store_n(&known, function, __ATOMIC_RELAXED);
    }
    return function;
}

/* Whether a symbol is defined by the object that contains this code. */
EARLY static bool is_own(const void *symbol)
{
    Dl_info its, own;
    return dladdr(symbol, &its) && dladdr((const void *)(uintptr_t)qmpi_next_symbol, &own) &&
           its.dli_fbase == own.dli_fbase;
}

EARLY void *qmpi_next_symbol(const char *name)
{
    qmpi_next_symbol_finder *function = qmpi_next_symbol_dlsym();
    void *found = function ? function(RTLD_NEXT, name) : NULL;
    if (!found) /* a symbol that programs can no longer be linked with has only a hidden version */
        found = find_version(RTLD_NEXT, name);
    if (!found && function) {
        found = function(RTLD_DEFAULT, name);
        if (found && is_own(found))
            found = NULL;
    }
    return found ? found : find_version(RTLD_DEFAULT, name);
}
