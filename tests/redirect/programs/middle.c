/* SPDX-License-Identifier: MIT */
/* A library between the program and MPI that is not a tool, and looks up the next definition. */
#define _GNU_SOURCE
#include <dlfcn.h>

void *middle_next(const char *name);

__attribute__((visibility("default"))) void *middle_next(const char *name)
{
    void *volatile found = dlsym(RTLD_NEXT, name); /* not a tail call, because RTLD_NEXT depends on
                                                      the caller */
    return found;
}
