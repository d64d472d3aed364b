/* SPDX-License-Identifier: MIT */
/*
 * Calls each collective on an intracommunicator in all its forms, as root and as another rank.
 * Neighborhood collectives are in neighbours.c. In the v- and w-variants, counts differ between
 * ranks. Arguments that are significant only at the root are invalid on other ranks. Runs on 1 to 4
 * ranks, with MPI_COMM_WORLD and MPI_COMM_SELF.
 */
#include "every_form.h"

#include <stdio.h>

static int me, size;
static MPI_Comm comm;
static int out[256], in[256];
static MPI_Datatype gaps; /* 2 ints with a gap between them */

/* i + 1 ints for rank i, at different displacements, and the total number of bytes. */
static const struct counts by_rank = COUNTS(1, 2, 3, 4);
static const struct displacements places = COUNTS(0, 10, 20, 30);
static const struct counts garbage = COUNTS(-1, -1, -1, -1);
#define TOGETHER (4L * size * (size + 1) / 2)

/* ---- With a root ----------------------------------------------------------------------------- */

#define BCAST(PICK) out, 3, gaps, root, comm
#define REDUCE(PICK) out, IS_ROOT ? in : NULL, 5, MPI_INT, MPI_SUM, root, comm
#define GATHER(PICK)                                                                               \
    out, 2, MPI_INT, IS_ROOT ? in : NULL, IS_ROOT ? 1 : -1, IS_ROOT ? gaps : MPI_DATATYPE_NULL,    \
        root, comm
#define SCATTER(PICK)                                                                              \
    IS_ROOT ? out : NULL, IS_ROOT ? 1 : -1, IS_ROOT ? gaps : MPI_DATATYPE_NULL, in, 2, MPI_INT,    \
        root, comm
#define GATHERV(PICK)                                                                              \
    out, me + 1, MPI_INT, IS_ROOT ? in : NULL, IS_ROOT ? PICK(by_rank) : PICK(garbage),            \
        IS_ROOT ? PICK(places) : NULL, IS_ROOT ? MPI_INT : MPI_DATATYPE_NULL, root, comm
#define SCATTERV(PICK)                                                                             \
    IS_ROOT ? out : NULL, IS_ROOT ? PICK(by_rank) : NULL, IS_ROOT ? PICK(places) : NULL,           \
        IS_ROOT ? MPI_INT : MPI_DATATYPE_NULL, in, me + 1, MPI_INT, root, comm
#define IS_ROOT (me == root)

static void with_root(int root)
{
    char as_given[24];
    snprintf(as_given, sizeof as_given, "root=%d", root);
    EVERY_FORM(Bcast, bcast, BCAST, IS_ROOT ? 24 : 0, IS_ROOT ? 0 : 24, as_given);
    EVERY_FORM(Reduce, reduce, REDUCE, 20, IS_ROOT ? 20 : 0, as_given);
    EVERY_FORM(Gather, gather, GATHER, 8, IS_ROOT ? 8 * size : 0, as_given);
    EVERY_FORM(Scatter, scatter, SCATTER, IS_ROOT ? 8 * size : 0, 8, as_given);
    EVERY_FORM(Gatherv, gatherv, GATHERV, 4 * (me + 1), IS_ROOT ? TOGETHER : 0, as_given);
    EVERY_FORM(Scatterv, scatterv, SCATTERV, IS_ROOT ? TOGETHER : 0, 4 * (me + 1), as_given);
}

/* ---- All to all ------------------------------------------------------------------------------ */

/* Rank i sends j + 1 ints to rank j, so it receives i + 1 ints from each rank. */
static struct counts mine;
static const struct displacements bytes = COUNTS(0, 40, 80, 120);
static MPI_Datatype ints[MOST];

#define ALLREDUCE(PICK) out, in, 5, MPI_INT, MPI_SUM, comm
#define ALLGATHER(PICK) out, 2, MPI_INT, in, 1, gaps, comm
#define ALLGATHERV(PICK) out, me + 1, MPI_INT, in, PICK(by_rank), PICK(places), MPI_INT, comm
#define ALLTOALL(PICK) out, 2, MPI_INT, in, 8, MPI_BYTE, comm
#define ALLTOALLV(PICK)                                                                            \
    out, PICK(by_rank), PICK(places), MPI_INT, in, PICK(mine), PICK(places), MPI_INT, comm
#define ALLTOALLW(PICK)                                                                            \
    out, PICK(elements), PICK(bytes), mixed, in, PICK(mine), PICK(bytes), ints, comm
#define REDUCE_SCATTER(PICK) out, in, PICK(by_rank), MPI_INT, MPI_SUM, comm
#define REDUCE_SCATTER_BLOCK(PICK) out, in, 3, MPI_INT, MPI_SUM, comm
#define SCAN(PICK) out, in, 7, MPI_INT, MPI_SUM, comm

static void all_to_all(void)
{
    /* Together, the two arrays describe i + 1 ints for rank i, in different datatypes. */
    static const struct counts elements = COUNTS(1, 1, 3, 2);
    const MPI_Datatype mixed[MOST] = {MPI_INT, MPI_2INT, MPI_INT, MPI_2INT};
    const long all_mine = 4L * size * (me + 1);
    EVERY_FORM(Allreduce, allreduce, ALLREDUCE, 20, 20, "");
    EVERY_FORM(Allgather, allgather, ALLGATHER, 8, 8 * size, "");
    EVERY_FORM(Allgatherv, allgatherv, ALLGATHERV, 4 * (me + 1), TOGETHER, "");
    EVERY_FORM(Alltoall, alltoall, ALLTOALL, 8 * size, 8 * size, "");
    EVERY_FORM(Alltoallv, alltoallv, ALLTOALLV, TOGETHER, all_mine, "");
    EVERY_FORM(Alltoallw, alltoallw, ALLTOALLW, TOGETHER, all_mine, "");
    EVERY_FORM(Reduce_scatter, reduce_scatter, REDUCE_SCATTER, TOGETHER, 4 * (me + 1), "");
    EVERY_FORM(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER_BLOCK, 12 * size, 12, "");
    EVERY_FORM(Scan, scan, SCAN, 28, 28, "");
    /* Rank 0 receives nothing. */
    EVERY_FORM(Exscan, exscan, SCAN, 28, me == 0 ? 0 : 28, "");
}

#define NOTHING(PICK) NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm
#define NOTHING_ROOTED(PICK) NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, comm
#define NOTHING_REDUCED(PICK) NULL, NULL, 0, MPI_INT, MPI_SUM, comm

static void barriers_and_nothing(void)
{
    DO(Barrier, (comm), "@");
    ONE_NONBLOCKING(Ibarrier, (comm, &request_of), 0, 0, "");
    ONE_PERSISTENT(Barrier_init, (comm, MPI_INFO_NULL, &request_of), 0, 0, "");
    EVERY_FORM(Allgather, allgather, NOTHING, 0, 0, "");
    EVERY_FORM(Alltoall, alltoall, NOTHING, 0, 0, "");
    EVERY_FORM(Gather, gather, NOTHING_ROOTED, 0, 0, "root=0");
    EVERY_FORM(Scatter, scatter, NOTHING_ROOTED, 0, 0, "root=0");
    EVERY_FORM(Allreduce, allreduce, NOTHING_REDUCED, 0, 0, "");
    DO(Bcast, (NULL, 0, MPI_INT, 0, comm), "@ root=0");
}

static void everything_on(MPI_Comm which)
{
    comm = which;
    PMPI_Comm_rank(comm, &me);
    PMPI_Comm_size(comm, &size);
    expect_on(comm);
    for (int i = 0; i < MOST; i++) {
        mine.small[i] = me + 1;
        mine.large[i] = me + 1;
        ints[i] = MPI_INT;
    }
    for (int root = 0; root < size; root++)
        with_root(root);
    all_to_all();
    barriers_and_nothing();
}

int main(int argc, char **argv)
{
    int rank, ranks;
    expect_init(argc, argv, &rank, &ranks);
    EXPECT_TRUE(ranks <= MOST);
    PMPI_Type_vector(2, 1, 3, MPI_INT, &gaps);
    PMPI_Type_commit(&gaps);
    everything_on(MPI_COMM_WORLD);
    everything_on(MPI_COMM_SELF);
    PMPI_Type_free(&gaps);
    expect_finalize();
    return 0;
}
