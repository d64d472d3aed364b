/* SPDX-License-Identifier: MIT */
/*
 * A program that makes its last calls inside MPI_Finalize, as PETSc does: in delete callbacks of
 * attributes of MPI_COMM_SELF. One attribute is set immediately after MPI_Init, and the other one
 * immediately before MPI_Finalize. Each callback makes 3 calls of MPI_Barrier and 2 of
 * MPI_Allreduce, sends a message from rank 0 to rank 1, and creates and frees a communicator. The
 * main program does the same once.
 *
 *     last_calls [end]   the callback that is called last ends the process by SIGTERM
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int ends;

static void communicate(void)
{
    int rank, sum, one = 1;
    MPI_Comm copy;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(&one, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(&sum, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_free(&copy);
}

static int call_back(MPI_Comm comm, int key, void *value, void *state)
{
    int finalized;
    (void)comm;
    (void)key;
    (void)state;
    MPI_Finalized(&finalized);
    communicate();
    printf("callback of %s: finalized %d\n", (char *)value, finalized);
    fflush(stdout);
    if (ends && !strcmp(value, "the first attribute"))
        raise(SIGTERM);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key;
    ends = argc > 1 && !strcmp(argv[1], "end");
    MPI_Init(&argc, &argv);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_back, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, "the first attribute");
    communicate();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_back, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, "the last attribute");
    MPI_Finalize();
    printf("finalized\n");
    return 0;
}
