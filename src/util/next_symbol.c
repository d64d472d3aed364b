/* SPDX-License-Identifier: MIT */
/* See next_symbol.h. The functions are found by dlvsym, because libqmpi interposes dlsym. */
#define _GNU_SOURCE
#include "util/next_symbol.h"

#include <dlfcn.h>
#include <stddef.h>

/* Versions of the functions in glibc. They depend on the processor, and on whether the release has
 * moved the function to libc. */
static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27",
                                       "GLIBC_2.11"};

__attribute__((no_sanitize("address", "undefined", "thread"))) static void *
find_version(void *where, const char *name)
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

__attribute__((no_sanitize("address", "undefined", "thread"))) void *
qmpi_next_symbol(const char *name)
{
    void *found = find_version(RTLD_NEXT, name);
    return found ? found : find_version(RTLD_DEFAULT, name);
}
