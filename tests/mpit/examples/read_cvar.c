/* SPDX-License-Identifier: MIT */
/*
 * The MPI standard's example "Reading the value of a control variable" (MPI 4.0, section 15.3.6
 * "Control Variables"), in which the variable is bound to a communicator. The main program, which
 * finds the variable by name and reads it for two communicators, is not part of the example.
 */
#include <mpi.h>
#include <stdio.h>

static int getValue_int_comm(int index, MPI_Comm comm, int *val)
{
    int err, count;
    MPI_T_cvar_handle handle;

    /* This example assumes that the variable index can be bound to a communicator */

    err = MPI_T_cvar_handle_alloc(index, &comm, &handle, &count);
    if (err != MPI_SUCCESS)
        return err;

    /* The following assumes that the variable is represented by a single integer */

    err = MPI_T_cvar_read(handle, val);
    if (err != MPI_SUCCESS)
        return err;

    err = MPI_T_cvar_handle_free(&handle);
    return err;
}

int main(int argc, char **argv)
{
    int provided, index, rank, world = -1, self = -1;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2 || MPI_T_cvar_get_index(argv[1], &index) != MPI_SUCCESS ||
        getValue_int_comm(index, MPI_COMM_WORLD, &world) != MPI_SUCCESS ||
        getValue_int_comm(index, MPI_COMM_SELF, &self) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        printf("world %d self %d\n", world, self);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
