/* SPDX-License-Identifier: MIT */
/* See world.h. */
#include "observe/world.h"

#include "dispatch/dispatch.h"

/* The group of all processes. Where there are sessions alone, a session is opened for it. */
static bool world_group(MPI_Group *group)
{
    int initialized = 0, finalized = 0;
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    if (initialized && !finalized)
        return QMPI_PMPI(Comm_group, COMM_GROUP)(MPI_COMM_WORLD, group) == MPI_SUCCESS;
#ifdef MPI_SESSION_NULL
    MPI_Session session;
    if (QMPI_PMPI(Session_init, SESSION_INIT)(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) !=
        MPI_SUCCESS)
        return false;
    const int result =
        QMPI_PMPI(Group_from_session_pset, GROUP_FROM_SESSION_PSET)(session, "mpi://WORLD", group);
    QMPI_PMPI(Session_finalize, SESSION_FINALIZE)(&session);
    return result == MPI_SUCCESS;
#else
    return false;
#endif
}

bool qmpi_world_translate(MPI_Group group, int count, const int *ranks, int *world)
{
    MPI_Group all;
    if (!world_group(&all))
        return false;
    const int result =
        QMPI_PMPI(Group_translate_ranks, GROUP_TRANSLATE_RANKS)(group, count, ranks, all, world);
    QMPI_PMPI(Group_free, GROUP_FREE)(&all);
    return result == MPI_SUCCESS;
}

bool qmpi_world_may_hold(MPI_Comm comm)
{
    int initialized = 0, finalized = 0;
    if (comm == MPI_COMM_NULL)
        return false;
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    return !finalized && (initialized || (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF));
}
