/* SPDX-License-Identifier: MIT */
/*
 * Uses only sessions, on two ranks. MPI_COMM_WORLD does not exist, so world ranks are those in
 * mpi://WORLD. In the first session, the communicator has the reverse order of mpi://WORLD. In the
 * second session, the same calls use a communicator in the same order as mpi://WORLD. The second
 * session begins before the first one ends, because MPICH 4.0 cannot be initialized again.
 */
#include "expect.h"

static int numbers[8];

static void in_a_session(MPI_Session session, int again)
{
    MPI_Group world, reversed;
    MPI_Comm comm;
    int me, size, rank;
    DO(Group_from_session_pset, (session, "mpi://WORLD", &world), "");
    DO(Group_size, (world, &size), "");
    EXPECT_TRUE(size == 2);
    PMPI_Group_rank(world, &rank);
    PMPI_Group_incl(world, 2, (int[]){1, 0}, &reversed);
    DO(Comm_create_from_group,
       (again ? world : reversed, "qmpi.test.tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), "");
    PMPI_Comm_rank(comm, &me);
    EXPECT_TRUE(me == (again ? rank : 1 - rank));
    expect_on(comm);
    const char *ranks = again ? "ranks=0,1" : "ranks=1,0";
    if (me == 0)
        DO(Send, (numbers, 3, MPI_INT, 1, 9, comm),
           says("@ sent=12 transfers=>1/%d/9/12 %s", 1 - rank, ranks));
    else
        DO(Recv, (numbers, 8, MPI_INT, MPI_ANY_SOURCE, 9, comm, MPI_STATUS_IGNORE),
           says("@ received=12 transfers=<0/%d/9/12 received_before=32 "
                "transfers_before=<any/-/9/32 %s",
                1 - rank, ranks));
    DO(Bcast, (numbers, 2, MPI_INT, 0, comm), me == 0 ? "@ sent=8 root=0" : "@ received=8 root=0");
    DO(Allreduce, (MPI_IN_PLACE, numbers, 2, MPI_INT, MPI_SUM, comm), "@ sent=8 received=8");
    DO(Comm_free, (&comm), "comm=* comm_after=*");
    DO(Group_free, (&reversed), "");
    DO(Group_free, (&world), "");
}

int main(int argc, char **argv)
{
    MPI_Session first, second;
    expect_begin(argc, argv);
    DO(Session_init, (MPI_INFO_NULL, MPI_ERRORS_RETURN, &first), "");
    in_a_session(first, 0);
    DO(Session_init, (MPI_INFO_NULL, MPI_ERRORS_RETURN, &second), "");
    DO(Session_finalize, (&first), "");
    in_a_session(second, 1);
    DO(Session_finalize, (&second), "");
    return 0;
}
