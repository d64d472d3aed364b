/* SPDX-License-Identifier: MIT */
/* Sends messages and makes collective calls on two ranks. The numbers of calls and of bytes are the
 * same with all MPI libraries. */
#include <mpi.h>

static int rank, peer;

static void messages(MPI_Comm comm)
{
    double out[100] = {0}, in[100];
    MPI_Status status;
    MPI_Sendrecv(out, 10, MPI_DOUBLE, peer, 1, in, 100, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 comm, &status);
    MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 1, in, 1, MPI_INT, MPI_PROC_NULL, 1, comm,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; i++) {
        if (rank == 0)
            MPI_Send(out, 10 * i, MPI_DOUBLE, peer, i, comm);
        else
            MPI_Recv(in, 100, MPI_DOUBLE, i % 2 ? MPI_ANY_SOURCE : peer, i, comm,
                     MPI_STATUS_IGNORE);
    }
}

static void requests(MPI_Comm comm)
{
    int out[50] = {0}, in[50], index;
    MPI_Request all[2], persistent[2];
    MPI_Irecv(in, 50, MPI_INT, peer, MPI_ANY_TAG, comm, &all[0]);
    MPI_Isend(out, 20, MPI_INT, peer, 7, comm, &all[1]);
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, 50, MPI_INT, peer, 99, comm, &all[0]);
    MPI_Cancel(&all[0]);
    MPI_Wait(&all[0], MPI_STATUS_IGNORE);
    MPI_Irecv(in, 50, MPI_INT, MPI_ANY_SOURCE, 8, comm, &all[0]);
    MPI_Send(out, 30, MPI_INT, peer, 8, comm);
    MPI_Waitany(1, all, &index, MPI_STATUS_IGNORE);
    MPI_Recv_init(in, 50, MPI_INT, peer, 9, comm, &persistent[0]);
    MPI_Send_init(out, 40, MPI_INT, peer, 9, comm, &persistent[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, persistent);
        MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);
}

static void collectives(MPI_Comm comm)
{
    double values[8] = {0}, sums[8];
    MPI_Request request;
    MPI_Comm copy;
    MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Reduce(values, sums, 4, MPI_DOUBLE, MPI_MAX, 1, comm);
    MPI_Allgather(values, 4, MPI_DOUBLE, sums, 4, MPI_DOUBLE, comm);
    MPI_Ibcast(values, 8, MPI_DOUBLE, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_idup(comm, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
}

static void derived_types(MPI_Comm comm)
{
    MPI_Datatype row;
    int out[12] = {0}, in[12];
    MPI_Type_vector(3, 2, 4, MPI_INT, &row);
    MPI_Type_commit(&row);
    MPI_Sendrecv(out, 1, row, peer, 3, in, 1, row, peer, 3, comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&row);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    messages(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_Comm_rank(comm, &rank);
    peer = 1 - rank;
    requests(comm);
    collectives(comm);
    derived_types(comm);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
