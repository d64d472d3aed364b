/* SPDX-License-Identifier: MIT */
/* See private_comm.h. */
#include "toolkit/private_comm.h"

bool tool_private_comm(MPI_Comm *comm)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return PMPI_Comm_split(MPI_COMM_WORLD, 0, rank, comm) == MPI_SUCCESS;
}

bool tool_world_group(MPI_Session session, MPI_Group *group)
{
#ifdef MPI_SESSION_NULL
    if (session != MPI_SESSION_NULL)
        return PMPI_Group_from_session_pset(session, "mpi://WORLD", group) == MPI_SUCCESS;
#endif
    return session == MPI_SESSION_NULL && PMPI_Comm_group(MPI_COMM_WORLD, group) == MPI_SUCCESS;
}
