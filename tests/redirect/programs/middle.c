/* SPDX-License-Identifier: MIT */
/* A library that is not a tool. In the search order, it is between the program and the MPI library.
 * It looks up the next definition of a name. */
#define _GNU_SOURCE
#include <dlfcn.h>

void *middle_next(const char *name);

__attribute__((visibility("default"))) void *middle_next(const char *name)
{
    /* RTLD_NEXT depends on the caller, so this must not become a tail call. */
    void *volatile found = dlsym(RTLD_NEXT, name);
    return found;
}
