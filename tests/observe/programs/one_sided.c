/* SPDX-License-Identifier: MIT */
/*
 * All one-sided accesses and their request-based forms, on a communicator of two ranks in the
 * reverse order of MPI_COMM_WORLD. Rank 0 of this communicator accesses the memory of both ranks.
 * Special cases are MPI_PROC_NULL, counts of 0, MPI_NO_OP (which does not read the origin buffer)
 * and datatypes with gaps.
 */
#include "expect.h"

static int peer, world_peer, me;
static MPI_Win window;
static int out[64], in[64];

static const char *to(int bytes)
{
    return says("sent=%d transfers=>%d/%d/-/%d", bytes, peer, world_peer, bytes);
}

static const char *from(int bytes)
{
    return says("received=%d transfers=<%d/%d/-/%d", bytes, peer, world_peer, bytes);
}

static const char *both(int sent, int received)
{
    return says("sent=%d received=%d transfers=>%d/%d/-/%d,<%d/%d/-/%d", sent, received, peer,
                world_peer, sent, peer, world_peer, received);
}

#define BOTH_COUNTS(X, ARGUMENTS, fields)                                                          \
    do {                                                                                           \
        DO(X, ARGUMENTS, fields);                                                                  \
        DO(X##_c, ARGUMENTS, fields);                                                              \
    } while (0)

#define BOTH_REQUESTS(X, ARGUMENTS, fields)                                                        \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        DO_AND_WAIT(X, ARGUMENTS, request, fields);                                                \
        DO_AND_WAIT(X##_c, ARGUMENTS, request, fields);                                            \
    } while (0)

static void access_to(int target)
{
    peer = target;
    world_peer = 1 - target;
    BOTH_COUNTS(Put, (out, 3, MPI_INT, peer, 0, 3, MPI_INT, window), to(12));
    BOTH_COUNTS(Get, (in, 4, MPI_INT, peer, 0, 4, MPI_INT, window), from(16));
    BOTH_COUNTS(Accumulate, (out, 5, MPI_INT, peer, 0, 5, MPI_INT, MPI_SUM, window), to(20));
    BOTH_COUNTS(Get_accumulate,
                (out, 2, MPI_INT, in, 2, MPI_INT, peer, 0, 2, MPI_INT, MPI_SUM, window),
                both(8, 8));
    DO(Fetch_and_op, (out, in, MPI_INT, peer, 0, MPI_SUM, window), both(4, 4));
    BOTH_REQUESTS(Rput, (out, 3, MPI_INT, peer, 0, 3, MPI_INT, window, &request), to(12));
    BOTH_REQUESTS(Rget, (in, 4, MPI_INT, peer, 0, 4, MPI_INT, window, &request), from(16));
    BOTH_REQUESTS(Raccumulate, (out, 5, MPI_INT, peer, 0, 5, MPI_INT, MPI_SUM, window, &request),
                  to(20));
    BOTH_REQUESTS(Rget_accumulate,
                  (out, 2, MPI_INT, in, 2, MPI_INT, peer, 0, 2, MPI_INT, MPI_SUM, window, &request),
                  both(8, 8));
    /* The value for the comparison does not count as data of the origin. */
    DO(Compare_and_swap, (out, in, in + 1, MPI_INT, peer, 0, window), both(4, 4));
}

static void nobody_and_nothing(void)
{
    const char *nobody = "transfers=>null/-/-/0", *none = "transfers=<null/-/-/0";
    const char *neither = "transfers=>null/-/-/0,<null/-/-/0";
    DO(Put, (out, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, window), nobody);
    DO(Accumulate, (out, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, MPI_SUM, window), nobody);
    DO(Get, (in, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, window), none);
    DO(Get_accumulate,
       (out, 2, MPI_INT, in, 2, MPI_INT, MPI_PROC_NULL, 0, 2, MPI_INT, MPI_SUM, window), neither);
    DO(Fetch_and_op, (out, in, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, window), neither);
    DO(Compare_and_swap, (out, in, in + 1, MPI_INT, MPI_PROC_NULL, 0, window), neither);
    DO(Put, (NULL, 0, MPI_INT, peer, 0, 0, MPI_INT, window), to(0));
    DO(Get, (NULL, 0, MPI_INT, peer, 0, 0, MPI_INT, window), from(0));
}

static void without_operation(void)
{
    const char *fetched = says("received=8 transfers=*<%d/%d/-/8", peer, world_peer);
    const char *one = says("received=4 transfers=*<%d/%d/-/4", peer, world_peer);
    MPI_Request request;
    DO(Get_accumulate, (NULL, 0, MPI_INT, in, 2, MPI_INT, peer, 0, 2, MPI_INT, MPI_NO_OP, window),
       fetched);
    DO(Get_accumulate,
       (NULL, 7, MPI_DOUBLE, in, 2, MPI_INT, peer, 0, 2, MPI_INT, MPI_NO_OP, window), fetched);
    DO_AND_WAIT(
        Rget_accumulate,
        (NULL, 0, MPI_INT, in, 2, MPI_INT, peer, 0, 2, MPI_INT, MPI_NO_OP, window, &request),
        request, fetched);
    DO(Fetch_and_op, (NULL, in, MPI_INT, peer, 0, MPI_NO_OP, window), one);
}

static void datatypes(void)
{
    MPI_Datatype gaps;
    PMPI_Type_vector(3, 2, 4, MPI_INT, &gaps);
    PMPI_Type_commit(&gaps);
    /* The number of bytes is that of the origin's count and datatype. */
    DO(Put, (out, 2, gaps, peer, 0, 12, MPI_INT, window), to(48));
    DO(Get, (in, 12, MPI_INT, peer, 0, 2, gaps, window), from(48));
    PMPI_Type_free(&gaps);
}

int main(int argc, char **argv)
{
    int rank, size, *base;
    MPI_Comm reversed;
    expect_init(argc, argv, &rank, &size);
    EXPECT_TRUE(size == 2);
    PMPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    PMPI_Comm_rank(reversed, &me);
    expect_on(reversed);
    DO(Win_allocate, (256, sizeof *base, MPI_INFO_NULL, reversed, &base, &window), "@");
    PMPI_Comm_free(&reversed); /* the processes of the window must still be known */
    DO(Win_fence, (0, window), "");
    if (me == 0)
        DO(Put, (out, 3, MPI_INT, 1, 0, 3, MPI_INT, window), "sent=12 transfers=>1/0/-/12");
    DO(Win_fence, (0, window), "");
    DO(Win_lock_all, (0, window), "");
    if (me == 0) {
        access_to(0);
        access_to(1);
        nobody_and_nothing();
        without_operation();
        datatypes();
        DO(Win_flush, (1, window), "");
    }
    DO(Win_unlock_all, (window), "");
    DO(Win_free, (&window), "");

    /* This window may have the handle of the freed one. Nevertheless, its ranks must be those in
     * MPI_COMM_WORLD, not those in the reversed communicator of the freed window. */
    DO(Win_create, (in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window), "@world");
    DO(Win_lock, (MPI_LOCK_SHARED, 1, 0, window), "");
    DO(Put, (out, 1, MPI_INT, 1, 0, 1, MPI_INT, window), "sent=4 transfers=>1/1/-/4");
    DO(Win_unlock, (1, window), "");
    DO(Win_free, (&window), "");
    expect_finalize();
    return 0;
}
