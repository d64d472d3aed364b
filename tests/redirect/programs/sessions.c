/* SPDX-License-Identifier: MIT */
/*
 * Uses a session without MPI_Init. With an argument, uses two sessions. The second one is opened
 * and closed while the first one is open, because MPICH 4.0.2 cannot open a session after all
 * sessions have been closed.
 */
#include <mpi.h>

#include <stdio.h>

static void use_session(int further)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank = -1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, further ? "outer" : "inner", MPI_INFO_NULL,
                               MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    if (further)
        use_session(further - 1);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    printf("rank %d\n", rank);
}

int main(int argc, char **argv)
{
    (void)argv;
    use_session(argc > 1 ? 1 : 0);
    return 0;
}
