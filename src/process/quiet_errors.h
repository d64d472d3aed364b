/* SPDX-License-Identifier: MIT */
/*
 * Calls of libqmpi on communicators of the program, such as MPI_COMM_WORLD: if one fails, the
 * program's error handler must not be invoked, because the program has made no such call, and the
 * default handler would end the job.
 */
#ifndef QMPI_PROCESS_QUIET_ERRORS_H
#define QMPI_PROCESS_QUIET_ERRORS_H

#include <mpi.h>

struct qmpi_quiet_errors {
    MPI_Comm comm;
    MPI_Errhandler before;
    int is_set;
};

/*
 * Between these two functions, errors on `comm` return. Errors on it in other threads do so, too;
 * therefore, as few calls as possible are between them. MPI is initialized. Errors of functions
 * without a communicator, such as those of groups, are raised on MPI_COMM_SELF or, in older
 * libraries, on MPI_COMM_WORLD. With MPICH 5, errors on MPI_COMM_SELF are still raised unless the
 * program has set a handler of it.
 */
void qmpi_quiet_errors_begin(struct qmpi_quiet_errors *quiet, MPI_Comm comm);
void qmpi_quiet_errors_end(struct qmpi_quiet_errors *quiet);

#endif
