/* SPDX-License-Identifier: MIT */
/*
 * A small MPI program that names its parts, to try tools on: MPI_Pcontrol(1, "name") opens a
 * region, MPI_Pcontrol(-1, "name") closes it. Without tools, these calls have no effect. The
 * program knows nothing of qmpi.
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    double data[1000] = {0}, sum = 0;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Pcontrol(1, "input");
    MPI_Bcast(data, 1000, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Pcontrol(-1, "input");

    MPI_Pcontrol(1, "solve");
    for (int step = 0; step < 10; step++) {
        MPI_Pcontrol(1, "exchange");
        MPI_Sendrecv_replace(data, 100, MPI_DOUBLE, (rank + 1) % size, 0, (rank + size - 1) % size,
                             0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Pcontrol(-1, "exchange");
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Pcontrol(-1, "solve");

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
