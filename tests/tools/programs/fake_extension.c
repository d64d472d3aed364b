/* SPDX-License-Identifier: MIT */
/* The extension fake.abi3.so of the program fake_python.c. */
#include <mpi.h>

__attribute__((visibility("default"))) void call_in_extension(void);

void call_in_extension(void)
{
    MPI_Barrier(MPI_COMM_SELF); /* extension */
}
