/* SPDX-License-Identifier: MIT */
/*
 * Neighborhood collectives in all forms, on two ranks. Topologies are a line (without neighbors
 * beyond its ends), a grid with one periodic dimension, a graph, a directed graph with different
 * numbers of edges in each direction, and a graph without edges. A block for each neighbor counts
 * separately, but data that all neighbors receive count only once, because they are read once.
 */
#include "every_form.h"

/* If a process has more sources than destinations, MPICH 4.0 converts int counts for
 * MPI_Neighbor_alltoallw into an array that is too short, and reads beyond its end. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
enum { READS_PAST_COUNTS = 1 };
#else
enum { READS_PAST_COUNTS = 0 };
#endif

static int rank, sources, destinations; /* numbers of neighbors of this process */
static int is_symmetric = 1;            /* each process has as many sources as destinations */
static MPI_Comm comm;
static int out[256], in[256];

/* The numbers of ints in each block. In a line, the blocks of missing neighbors must not count. */
static struct counts counts_out, counts_in;
static const struct displacements places = COUNTS(0, 10, 20, 30);
static const MPI_Aint bytes[MOST] = {0, 40, 80, 120};
static const MPI_Datatype ints[MOST] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};

#define ALLGATHER(PICK) out, 3, MPI_INT, in, 3, MPI_INT, comm
#define ALLTOALL(PICK) out, 3, MPI_INT, in, 3, MPI_INT, comm
#define ALLGATHERV(PICK) out, 3, MPI_INT, in, PICK(counts_in), PICK(places), MPI_INT, comm
#define ALLTOALLV(PICK)                                                                            \
    out, PICK(counts_out), PICK(places), MPI_INT, in, PICK(counts_in), PICK(places), MPI_INT, comm
#define ALLTOALLW(PICK) out, PICK(counts_out), bytes, ints, in, PICK(counts_in), bytes, ints, comm

static void set(struct counts *counts, int at, int value)
{
    counts->small[at] = value;
    counts->large[at] = value;
}

/* Calls all collectives. The parameters are the sums of `counts_out` and `counts_in` over the
 * blocks of existing neighbors. */
static void everything(int together_out, int together_in)
{
    const int once = destinations ? 12 : 0;
    EVERY_FORM(Neighbor_allgather, neighbor_allgather, ALLGATHER, once, 12 * sources, "");
    EVERY_FORM(Neighbor_alltoall, neighbor_alltoall, ALLTOALL, 12 * destinations, 12 * sources, "");
    EVERY_FORM(Neighbor_alltoallv, neighbor_alltoallv, ALLTOALLV, 4 * together_out, 4 * together_in,
               "");
    if (is_symmetric || !READS_PAST_COUNTS)
        EVERY_FORM(Neighbor_alltoallw, neighbor_alltoallw, ALLTOALLW, 4 * together_out,
                   4 * together_in, "");
    else
        EVERY_LARGE_FORM(Neighbor_alltoallw, neighbor_alltoallw, ALLTOALLW, 4 * together_out,
                         4 * together_in, "");
    for (int i = 0; i < MOST; i++)
        set(&counts_in, i, 3);
    EVERY_FORM(Neighbor_allgatherv, neighbor_allgatherv, ALLGATHERV, once, 12 * sources, "");
}

static void line(void)
{
    DO(Cart_create, (MPI_COMM_WORLD, 1, (int[]){2}, (int[]){0}, 0, &comm), "@world");
    expect_on(comm);
    sources = destinations = 1;
    /* Blocks 0 and 1 belong to the previous and the next process, so block 1 of rank 0 goes to
     * block 0 of rank 1. Blocks of missing neighbors have counts, too. */
    set(&counts_out, 0, rank == 0 ? 9 : 5);
    set(&counts_out, 1, rank == 0 ? 7 : 9);
    set(&counts_in, 0, rank == 0 ? 9 : 7);
    set(&counts_in, 1, rank == 0 ? 5 : 9);
    everything(rank == 0 ? 7 : 5, rank == 0 ? 5 : 7);
    PMPI_Comm_free(&comm);
}

/* Two dimensions. One of them is periodic and has a single process, which is its own neighbor. */
static void ring(void)
{
    DO(Cart_create, (MPI_COMM_WORLD, 2, ((int[]){2, 1}), ((int[]){0, 1}), 0, &comm), "@world");
    expect_on(comm);
    sources = destinations = 3;
    for (int i = 0; i < MOST; i++) {
        set(&counts_out, i, 2);
        set(&counts_in, i, 2);
    }
    everything(6, 6);
    PMPI_Comm_free(&comm);
}

static void graph(void)
{
    /* Each rank is a neighbor of the other one, and rank 1 is also its own neighbor. */
    DO(Graph_create, (MPI_COMM_WORLD, 2, (int[]){1, 3}, (int[]){1, 0, 1}, 0, &comm), "@world");
    expect_on(comm);
    sources = destinations = rank == 0 ? 1 : 2;
    for (int i = 0; i < MOST; i++) {
        set(&counts_out, i, 4);
        set(&counts_in, i, 4);
    }
    everything(4 * destinations, 4 * sources);
    PMPI_Comm_free(&comm);
}

static void directed(void)
{
    /* There are two edges from rank 0 to rank 1, one from rank 1 to itself, and none to rank 0. */
    static const int from_zero[] = {1, 1}, from_one[] = {1}, to_one[] = {0, 0, 1};
    sources = rank == 0 ? 0 : 3;
    destinations = rank == 0 ? 2 : 1;
    DO(Dist_graph_create_adjacent,
       (MPI_COMM_WORLD, sources, to_one, MPI_UNWEIGHTED, destinations,
        rank == 0 ? from_zero : from_one, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
       "@world");
    expect_on(comm);
    for (int i = 0; i < MOST; i++) {
        set(&counts_out, i, 4);
        set(&counts_in, i, 4);
    }
    is_symmetric = 0;
    everything(4 * destinations, 4 * sources);
    is_symmetric = 1;
    PMPI_Comm_free(&comm);
}

static void alone(void)
{
    DO(Dist_graph_create,
       (MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm), "@world");
    expect_on(comm);
    sources = destinations = 0;
    everything(0, 0);
    PMPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int size;
    expect_init(argc, argv, &rank, &size);
    EXPECT_TRUE(size == 2);
    line();
    ring();
    graph();
    directed();
    alone();
    expect_finalize();
    return 0;
}
