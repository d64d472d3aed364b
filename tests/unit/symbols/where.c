/* SPDX-License-Identifier: MIT */
/* where_ and where_and_exit print the place from which they are called, in the form in which a
 * profile stores it: module and offset. `call where()` in Fortran calls where_. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void where_(void);
void where_and_exit(void) __attribute__((noreturn));

static void print(char *caller)
{
    Dl_info info;
    if (dladdr(caller, &info))
        printf("%s %zu\n", info.dli_fname, (size_t)(caller - (char *)info.dli_fbase));
}

void where_(void)
{
    print(__builtin_return_address(0));
}

void where_and_exit(void)
{
    print(__builtin_return_address(0));
    exit(0);
}
