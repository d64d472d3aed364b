/* SPDX-License-Identifier: MIT */
/* See quiet_errors.h. */
#include "process/quiet_errors.h"

#include "process/mpi_library.h"

#include <stdbool.h>

/* Whether the error handler can be restored. As long as the program has not set a handler for
 * MPI_COMM_SELF, MPICH 5 reports errors of requests to that of MPI_COMM_WORLD; once set, a handler
 * cannot be unset. MPI_ERRORS_ARE_FATAL is taken to mean that none has been set. */
static bool can_restore(MPI_Comm comm, MPI_Errhandler before)
{
#if defined OPEN_MPI || (defined MPICH_NUMVERSION && MPICH_NUMVERSION < 50000000)
    (void)comm;
    (void)before;
    return true;
#else
    return comm != MPI_COMM_SELF || before != MPI_ERRORS_ARE_FATAL;
#endif
}

void qmpi_quiet_errors_begin(struct qmpi_quiet_errors *quiet, MPI_Comm comm)
{
    quiet->comm = comm;
    quiet->is_set =
        QMPI_PMPI(Comm_get_errhandler, COMM_GET_ERRHANDLER)(comm, &quiet->before) == MPI_SUCCESS &&
        can_restore(comm, quiet->before) &&
        QMPI_PMPI(Comm_set_errhandler, COMM_SET_ERRHANDLER)(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
}

/* Whether a handler is predefined; not all libraries can free such handlers. */
static bool is_predefined(MPI_Errhandler handler)
{
#ifdef MPI_ERRORS_ABORT
    if (handler == MPI_ERRORS_ABORT)
        return true;
#endif
    return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN;
}

void qmpi_quiet_errors_end(struct qmpi_quiet_errors *quiet)
{
    if (!quiet->is_set)
        return;
    QMPI_PMPI(Comm_set_errhandler, COMM_SET_ERRHANDLER)(quiet->comm, quiet->before);
    if (!is_predefined(quiet->before))
        QMPI_PMPI(Errhandler_free, ERRHANDLER_FREE)(&quiet->before);
}
