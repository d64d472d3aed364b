/* SPDX-License-Identifier: MIT */
/*
 * See find_object.h. libqmpi.so looks the function up, because the dynamic loader of an earlier
 * glibc does not start a program if a preloaded library refers, even weakly, to a symbol version
 * that this glibc lacks. libqmpi.a is linked with the C library of the program.
 */
#define _GNU_SOURCE
#include "sites/find_object.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef int finder(void *address, struct qmpi_find_object_result *found);

#ifndef QMPI_STATIC
finder *qmpi_find_object;

/* Runs before other constructors, because these may call MPI. */
__attribute__((constructor(101))) static void look_up_find_object(void)
{
    qmpi_find_object = (finder *)(uintptr_t)dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35");
}
#else
#ifndef DLFO_STRUCT_HAS_EH_DBASE /* glibc before 2.35 does not declare it */
struct dl_find_object;
int _dl_find_object(void *address, struct dl_find_object *found);
#endif
#pragma weak _dl_find_object
finder *qmpi_find_object = (finder *)(void (*)(void))_dl_find_object;
#endif
