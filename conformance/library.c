/* SPDX-License-Identifier: MIT */
/* A library of the application that makes an MPI call. */
#include <mpi.h>

int library_call(void);
int library_call(void)
{
    int size = 0;
    volatile int code = MPI_Type_size(MPI_INT, &size);
    return code;
}
