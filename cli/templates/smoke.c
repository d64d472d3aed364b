/* SPDX-License-Identifier: MIT */
/* The smoke test runs this program under @NAME@. A process sends three messages, of 8, 16 and 24
 * bytes, to itself. */
#include <mpi.h>

int main(int argc, char **argv)
{
    double sent[3] = {1, 2, 3}, received[3];
    MPI_Init(&argc, &argv);
    for (int count = 1; count <= 3; count++) {
        MPI_Request request;
        MPI_Irecv(received, count, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
        MPI_Send(sent, count, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return received[2] != sent[2];
}
