/* SPDX-License-Identifier: MIT */
/* See own_comm.h. */
#include "own_comm.h"

#include <stdio.h>

bool tool_own_comm(MPI_Comm *comm)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return PMPI_Comm_split(MPI_COMM_WORLD, 0, rank, comm) == MPI_SUCCESS;
}

bool tool_world_group(MPI_Session session, MPI_Group *group)
{
#if MPI_VERSION >= 4
    if (session != MPI_SESSION_NULL)
        return PMPI_Group_from_session_pset(session, "mpi://WORLD", group) == MPI_SUCCESS;
#endif
    return session == MPI_SESSION_NULL && PMPI_Comm_group(MPI_COMM_WORLD, group) == MPI_SUCCESS;
}

bool tool_own_comm_of_session(MPI_Session session, const char *tool, int tool_id, MPI_Comm *comm)
{
#if MPI_VERSION >= 4
    MPI_Group group;
    char tag[64];
    snprintf(tag, sizeof tag, "qmpi.%s.%d", tool, tool_id);
    if (!tool_world_group(session, &group))
        return false;
    const int result =
        PMPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm);
    PMPI_Group_free(&group);
    return result == MPI_SUCCESS;
#else
    (void)session;
    (void)tool;
    (void)tool_id;
    (void)comm;
    return false;
#endif
}
