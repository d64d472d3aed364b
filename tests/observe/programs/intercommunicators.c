/* SPDX-License-Identifier: MIT */
/*
 * Calls collectives and sends messages on an intercommunicator of three ranks. Group A is rank 2,
 * and group B is ranks 0 and 1, so that the groups have different sizes, and the rank in group A
 * differs from that in MPI_COMM_WORLD. In collectives with MPI_ROOT and MPI_PROC_NULL, processes
 * that take no part pass invalid arguments, as far as MPICH permits this.
 */
#include "every_form.h"

static MPI_Comm comm;
/* Whether this process is in group A, its rank in its own (the local) group, and the sizes of the
 * local and the remote group. */
static int in_a, me, local, remote;
static int out[256], in[256];

static const struct counts by_rank = COUNTS(1, 2, 3, 4);
static const struct displacements places = COUNTS(0, 10, 20, 30);
static struct counts mine;
static const struct counts twos = COUNTS(2, 2, 2, 2);
static const struct displacements bytes = COUNTS(0, 40, 80, 120);
static const MPI_Datatype ints[MOST] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};

/* ---- With a root, which is the last process of group A or of group B ------------------------- */

static int root; /* the argument that this process passes */
#define IS_ROOT (root == MPI_ROOT)
#define IS_OTHER (root >= 0) /* this process is not in the group of the root */
#define BCAST(PICK) out, 3, MPI_INT, root, comm
#define AT_ROOT(count) IS_ROOT ? (count) : -1
#define AT_OTHER(count) IS_OTHER ? (count) : -1
#define TYPE_AT_ROOT IS_ROOT ? MPI_INT : MPI_DATATYPE_NULL
#define TYPE_AT_OTHER IS_OTHER ? MPI_INT : MPI_DATATYPE_NULL
#define GATHER(PICK)                                                                               \
    IS_OTHER ? out : NULL, AT_OTHER(2), TYPE_AT_OTHER, IS_ROOT ? in : NULL, AT_ROOT(2),            \
        TYPE_AT_ROOT, root, comm
#define SCATTER(PICK)                                                                              \
    IS_ROOT ? out : NULL, AT_ROOT(2), TYPE_AT_ROOT, IS_OTHER ? in : NULL, AT_OTHER(2),             \
        TYPE_AT_OTHER, root, comm
#define GATHERV(PICK)                                                                              \
    IS_OTHER ? out : NULL, AT_OTHER(me + 1), TYPE_AT_OTHER, IS_ROOT ? in : NULL,                   \
        IS_ROOT ? PICK(by_rank) : NULL, IS_ROOT ? PICK(places) : NULL, TYPE_AT_ROOT, root, comm
#define SCATTERV(PICK)                                                                             \
    IS_ROOT ? out : NULL, IS_ROOT ? PICK(by_rank) : NULL, IS_ROOT ? PICK(places) : NULL,           \
        TYPE_AT_ROOT, IS_OTHER ? in : NULL, AT_OTHER(me + 1), TYPE_AT_OTHER, root, comm
#define REDUCE(PICK) out, IS_ROOT ? in : NULL, 5, MPI_INT, MPI_SUM, root, comm

#define FORMS BLOCKING_AND_NONBLOCKING

static void with_root(int in_mine)
{
    if (in_mine)
        root = me == local - 1 ? MPI_ROOT : MPI_PROC_NULL;
    else
        root = remote - 1;
    const char *const as_given =
        in_mine ? (IS_ROOT ? "root=root" : "root=null") : (root == 0 ? "root=0" : "root=1");
    const long together = 4L * remote * (remote + 1) / 2;
    FORMS(Bcast, bcast, BCAST, IS_ROOT ? 12 : 0, IS_OTHER ? 12 : 0, as_given);
    FORMS(Gather, gather, GATHER, IS_OTHER ? 8 : 0, IS_ROOT ? 8 * remote : 0, as_given);
    FORMS(Scatter, scatter, SCATTER, IS_ROOT ? 8 * remote : 0, IS_OTHER ? 8 : 0, as_given);
    FORMS(Gatherv, gatherv, GATHERV, IS_OTHER ? 4 * (me + 1) : 0, IS_ROOT ? together : 0, as_given);
    FORMS(Scatterv, scatterv, SCATTERV, IS_ROOT ? together : 0, IS_OTHER ? 4 * (me + 1) : 0,
          as_given);
    FORMS(Reduce, reduce, REDUCE, IS_OTHER ? 20 : 0, IS_ROOT ? 20 : 0, as_given);
}

/* ---- All to all ------------------------------------------------------------------------------ */

#define ALLGATHER(PICK) out, 2, MPI_INT, in, 2, MPI_INT, comm
#define ALLGATHERV(PICK) out, me + 1, MPI_INT, in, PICK(by_rank), PICK(places), MPI_INT, comm
#define ALLTOALL(PICK) out, 2, MPI_INT, in, 2, MPI_INT, comm
#define ALLTOALLV(PICK)                                                                            \
    out, PICK(by_rank), PICK(places), MPI_INT, in, PICK(mine), PICK(places), MPI_INT, comm
#define ALLTOALLW(PICK) out, PICK(twos), PICK(bytes), ints, in, PICK(twos), PICK(bytes), ints, comm
#define ALLREDUCE(PICK) out, in, 5, MPI_INT, MPI_SUM, comm
/* Each process contributes six ints. The processes of the other group share the six sums among
 * themselves. */
#define REDUCE_SCATTER(PICK) out, in, PICK(*shares), MPI_INT, MPI_SUM, comm
#define REDUCE_SCATTER_BLOCK(PICK) out, in, in_a ? 6 : 3, MPI_INT, MPI_SUM, comm

static void all_to_all(void)
{
    static const struct counts of_a = COUNTS(6), of_b = COUNTS(2, 4);
    const struct counts *shares = in_a ? &of_a : &of_b;
    const long together = 4L * remote * (remote + 1) / 2;
    FORMS(Allgather, allgather, ALLGATHER, 8, 8 * remote, "");
    FORMS(Allgatherv, allgatherv, ALLGATHERV, 4 * (me + 1), together, "");
    FORMS(Alltoall, alltoall, ALLTOALL, 8 * remote, 8 * remote, "");
    FORMS(Alltoallv, alltoallv, ALLTOALLV, together, 4 * (me + 1) * remote, "");
    FORMS(Alltoallw, alltoallw, ALLTOALLW, 8 * remote, 8 * remote, "");
    FORMS(Allreduce, allreduce, ALLREDUCE, 20, 20, "");
    FORMS(Reduce_scatter, reduce_scatter, REDUCE_SCATTER, 24, 4 * shares->small[me], "");
    FORMS(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER_BLOCK, 24, in_a ? 24 : 12, "");
    DO(Barrier, (comm), "@");
}

/* ---- Messages between the only process of A and the second one of B -------------------------- */

static void messages(void)
{
    MPI_Request request;
    if (in_a) {
        DO(Send, (out, 4, MPI_INT, 1, 7, comm), "@ sent=16 transfers=>1/1/7/16 ranks=0,1");
        DO(Recv, (in, 9, MPI_INT, MPI_ANY_SOURCE, 8, comm, MPI_STATUS_IGNORE),
           "@ received=16 transfers=<1/1/8/16 received_before=36 transfers_before=<any/-/8/36");
    } else if (me == 1) {
        DO(Recv, (in, 4, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE),
           "@ received=16 transfers=<0/2/7/16 ranks=2");
        DO_AND_WAIT(Isend, (out, 4, MPI_INT, 0, 8, comm, &request), request,
                    "@ sent=16 transfers=>0/2/8/16 ranks=2");
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm half, merged;
    expect_init(argc, argv, &rank, &size);
    EXPECT_TRUE(size == 3);
    in_a = rank == 2;
    DO(Comm_split, (MPI_COMM_WORLD, in_a, 0, &half), "@world ranks=0,1,2");
    DO(Intercomm_create, (half, 0, MPI_COMM_WORLD, in_a ? 0 : 2, 5, &comm),
       says("comm=%s ranks=%s", COMM(half), in_a ? "2" : "0,1"));
    PMPI_Comm_rank(comm, &me);
    PMPI_Comm_size(comm, &local);
    PMPI_Comm_remote_size(comm, &remote);
    for (int i = 0; i < MOST; i++) {
        mine.small[i] = me + 1;
        mine.large[i] = me + 1;
    }
    expect_on(comm);
    with_root(in_a);
    with_root(!in_a);
    all_to_all();
    messages();
    DO(Comm_remote_size, (comm, &remote), in_a ? "@ ranks=0,1" : "@ ranks=2");
    DO(Intercomm_merge, (comm, in_a ? 0 : 1, &merged), "@");
    DO(Comm_size, (merged, &size), says("comm=%s ranks=2,0,1", COMM(merged)));
    const MPI_Comm freed = merged;
    DO(Comm_free, (&merged), says("comm=%s comm_after=* ranks=2,0,1", COMM(freed)));
    DO(Comm_free, (&comm), "@ comm_after=*");
    PMPI_Comm_free(&half);
    expect_finalize();
    return 0;
}
