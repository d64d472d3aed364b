/* SPDX-License-Identifier: MIT */
/*
 * An application with a known number of messages that wait for their receives: rank 1 sends 8
 * messages of 100 ints to rank 0, which begins to receive them when all have been sent.
 */
#include <mpi.h>

enum { MESSAGES = 8, NUMBERS = 100 };

int main(int argc, char **argv)
{
    int rank, numbers[NUMBERS] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MESSAGES && rank == 1; i++)
        MPI_Send(numbers, NUMBERS, MPI_INT, 0, i, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MESSAGES && rank == 0; i++)
        MPI_Recv(numbers, NUMBERS, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
