/* SPDX-License-Identifier: MIT */
/*
 * Uses MPI_IN_PLACE in each collective that allows it, in all forms. The block that stays in place
 * in a gather, scatter or allgather does not count as received. It counts as sent only in an
 * allgather in which another process gets it, so not on MPI_COMM_SELF. Arguments that MPI_IN_PLACE
 * makes insignificant are invalid. Runs on 1 to 4 ranks, with MPI_COMM_WORLD and MPI_COMM_SELF.
 */
#include "every_form.h"

#include <stdio.h>

static int me, size;
static MPI_Comm comm;
static int data[256];

static const struct counts by_rank = COUNTS(1, 2, 3, 4);
static const struct displacements places = COUNTS(0, 10, 20, 30);
static const struct displacements bytes = COUNTS(0, 40, 80, 120);
static const struct counts twos = COUNTS(2, 2, 2, 2);
static const MPI_Datatype ints[MOST] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
#define TOGETHER (4L * size * (size + 1) / 2)
#define GARBAGE MPI_IN_PLACE, -1, MPI_DATATYPE_NULL
#define GARBAGE_V(PICK) MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL

/* In the following collectives, only the root passes MPI_IN_PLACE. */
#define IS_ROOT (me == root)
#define GATHER(PICK)                                                                               \
    IS_ROOT ? MPI_IN_PLACE : data, IS_ROOT ? -1 : 2, IS_ROOT ? MPI_DATATYPE_NULL : MPI_INT,        \
        IS_ROOT ? data : NULL, IS_ROOT ? 2 : -1, IS_ROOT ? MPI_INT : MPI_DATATYPE_NULL, root, comm
#define SCATTER(PICK)                                                                              \
    IS_ROOT ? data : NULL, IS_ROOT ? 2 : -1, IS_ROOT ? MPI_INT : MPI_DATATYPE_NULL,                \
        IS_ROOT ? MPI_IN_PLACE : data, IS_ROOT ? -1 : 2, IS_ROOT ? MPI_DATATYPE_NULL : MPI_INT,    \
        root, comm
#define GATHERV(PICK)                                                                              \
    IS_ROOT ? MPI_IN_PLACE : data, IS_ROOT ? -1 : me + 1, IS_ROOT ? MPI_DATATYPE_NULL : MPI_INT,   \
        data, PICK(by_rank), PICK(places), MPI_INT, root, comm
#define SCATTERV(PICK)                                                                             \
    data, PICK(by_rank), PICK(places), MPI_INT, IS_ROOT ? MPI_IN_PLACE : data,                     \
        IS_ROOT ? -1 : me + 1, IS_ROOT ? MPI_DATATYPE_NULL : MPI_INT, root, comm
#define REDUCE(PICK) IS_ROOT ? MPI_IN_PLACE : data, data, 5, MPI_INT, MPI_SUM, root, comm

static void with_root(int root)
{
    char as_given[24];
    snprintf(as_given, sizeof as_given, "root=%d", root);
    const long others = 8L * (size - 1), unlike = TOGETHER - 4 * (me + 1);
    EVERY_FORM(Gather, gather, GATHER, IS_ROOT ? 0 : 8, IS_ROOT ? others : 0, as_given);
    EVERY_FORM(Scatter, scatter, SCATTER, IS_ROOT ? others : 0, IS_ROOT ? 0 : 8, as_given);
    EVERY_FORM(Gatherv, gatherv, GATHERV, IS_ROOT ? 0 : 4 * (me + 1), IS_ROOT ? unlike : 0,
               as_given);
    EVERY_FORM(Scatterv, scatterv, SCATTERV, IS_ROOT ? unlike : 0, IS_ROOT ? 0 : 4 * (me + 1),
               as_given);
    EVERY_FORM(Reduce, reduce, REDUCE, 20, IS_ROOT ? 20 : 0, as_given);
}

#define ALLGATHER(PICK) GARBAGE, data, 3, MPI_INT, comm
#define ALLGATHERV(PICK) GARBAGE, data, PICK(by_rank), PICK(places), MPI_INT, comm
#define ALLTOALL(PICK) GARBAGE, data, 3, MPI_INT, comm
#define ALLTOALLV(PICK) GARBAGE_V(PICK), data, PICK(twos), PICK(places), MPI_INT, comm
#define ALLTOALLW(PICK) MPI_IN_PLACE, NULL, NULL, NULL, data, PICK(twos), PICK(bytes), ints, comm
#define REDUCED(PICK) MPI_IN_PLACE, data, 5, MPI_INT, MPI_SUM, comm
#define REDUCE_SCATTER(PICK) MPI_IN_PLACE, data, PICK(by_rank), MPI_INT, MPI_SUM, comm
#define REDUCE_SCATTER_BLOCK(PICK) MPI_IN_PLACE, data, 3, MPI_INT, MPI_SUM, comm

static void all_to_all(void)
{
    const int alone = size == 1;
    EVERY_FORM(Allgather, allgather, ALLGATHER, alone ? 0 : 12, 12 * (size - 1), "");
    EVERY_FORM(Allgatherv, allgatherv, ALLGATHERV, alone ? 0 : 4 * (me + 1),
               TOGETHER - 4 * (me + 1), "");
    EVERY_FORM(Alltoall, alltoall, ALLTOALL, 12 * size, 12 * size, "");
    EVERY_FORM(Alltoallv, alltoallv, ALLTOALLV, 8 * size, 8 * size, "");
    EVERY_FORM(Alltoallw, alltoallw, ALLTOALLW, 8 * size, 8 * size, "");
    EVERY_FORM(Allreduce, allreduce, REDUCED, 20, 20, "");
    EVERY_FORM(Reduce_scatter, reduce_scatter, REDUCE_SCATTER, TOGETHER, 4 * (me + 1), "");
    EVERY_FORM(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER_BLOCK, 12 * size, 12, "");
    EVERY_FORM(Scan, scan, REDUCED, 20, 20, "");
    EVERY_FORM(Exscan, exscan, REDUCED, 20, me == 0 ? 0 : 20, "");
}

static void everything_on(MPI_Comm which)
{
    comm = which;
    PMPI_Comm_rank(comm, &me);
    PMPI_Comm_size(comm, &size);
    expect_on(comm);
    for (int root = 0; root < size; root++)
        with_root(root);
    all_to_all();
}

int main(int argc, char **argv)
{
    int rank, ranks;
    expect_init(argc, argv, &rank, &ranks);
    EXPECT_TRUE(ranks <= MOST);
    everything_on(MPI_COMM_WORLD);
    everything_on(MPI_COMM_SELF);
    expect_finalize();
    return 0;
}
