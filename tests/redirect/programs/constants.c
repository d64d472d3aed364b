/* SPDX-License-Identifier: MIT */
/* The C part of constants.F90. Looks up the function that switches a layer, because the program is
 * not linked with libqmpi. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

void init_in_c(void);
void init_in_c(void)
{
    MPI_Init(NULL, NULL);
}

void switch_layer(int enabled);
void switch_layer(int enabled)
{
    int (*const set_enabled)(int, int) =
        (int (*)(int, int))(uintptr_t)dlsym(RTLD_DEFAULT, "QMPIX_Tool_set_enabled");
    if (!set_enabled || set_enabled(1, enabled) != MPI_SUCCESS)
        abort();
}
