/* SPDX-License-Identifier: MIT */
/* Sends messages from rank 0 to rank 1 in four parts, which calls of MPI_Pcontrol with the levels
 * 0, 1 and 2 separate. */
#include <mpi.h>

static void exchange(int rank, int times)
{
    int data[100] = {0};
    for (int i = 0; i < times; i++) {
        if (rank == 0)
            MPI_Send(data, 100, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(data, 100, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    exchange(rank, 3);
    MPI_Pcontrol(0);
    exchange(rank, 10);
    MPI_Pcontrol(1);
    exchange(rank, 4);
    MPI_Pcontrol(2);
    exchange(rank, 5);
    MPI_Finalize();
    return 0;
}
