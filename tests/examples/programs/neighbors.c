/* SPDX-License-Identifier: MIT */
/*
 * Exchanges data between two ranks: by a message, by neighborhood collectives on a grid without
 * wrap-around and on a graph with parallel edges and a loop, and by a persistent neighborhood
 * collective. tests/examples/test_examples.py has the number of bytes that one rank sends to
 * another in all.
 */
#include <mpi.h>

static int rank;

static void exchange_on_line(MPI_Comm line)
{
    double out[4] = {1, 2, 3, 4}, in[4];
    /* The neighbors: the first is the rank below, which rank 0 lacks, and the second the rank
     * above, which rank 1 lacks. */
    const int sent[2] = {rank == 1 ? 3 : 0, rank == 0 ? 2 : 0};
    const int got[2] = {rank == 1 ? 2 : 0, rank == 0 ? 3 : 0}, begin[2] = {0, 0};
    const MPI_Aint bytes[2] = {0, 0};
    const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Request request;
    MPI_Neighbor_alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, line);
    MPI_Neighbor_allgather(out, 2, MPI_DOUBLE, in, 2, MPI_DOUBLE, line);
    MPI_Ineighbor_alltoallv(out, sent, begin, MPI_DOUBLE, in, got, begin, MPI_DOUBLE, line,
                            &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Neighbor_alltoallw(out, sent, bytes, types, in, got, bytes, types, line);
#if MPI_VERSION >= 4
    MPI_Neighbor_alltoall_init(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, line, MPI_INFO_NULL,
                               &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
#endif
}

/* The graph has two edges from rank 0 to rank 1, and one from rank 0 to itself. */
static void exchange_on_graph(void)
{
    const int sources[2] = {0, 0}, destinations[3] = {1, 1, 0}, weights[3] = {1, 1, 1};
    int out[3] = {1, 2, 3}, in[2];
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0 ? 1 : 2, sources, weights,
                                   rank == 0 ? 3 : 0, destinations, weights, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, graph);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    int size, periodic = 0;
    char data[100] = "";
    MPI_Comm line;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line);
    exchange_on_line(line);
    MPI_Comm_free(&line);
    exchange_on_graph();
    if (rank == 0)
        MPI_Send(data, sizeof data, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(data, sizeof data, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
