/* SPDX-License-Identifier: MIT */
/*
 * For calls of libqmpi on communicators of the program, such as MPI_COMM_WORLD. If such a call
 * fails, the program's error handler must not be invoked, because the program has made no such
 * call, and the default handler would end the job.
 */
#ifndef QMPI_PROCESS_QUIET_ERRORS_H
#define QMPI_PROCESS_QUIET_ERRORS_H

#include <mpi.h>

struct qmpi_quiet_errors {
    MPI_Comm comm;
    MPI_Errhandler before; /* the program's error handler */
    int is_set;            /* MPI_ERRORS_RETURN has taken its place */
};

/*
 * Between these two functions, errors on `comm` are returned and invoke no error handler of the
 * program. This also affects errors in other threads, so as few calls as possible are made between
 * them. MPI must be initialized. Errors of functions without a communicator, such as those of
 * groups, are raised on MPI_COMM_SELF or, in older libraries, on MPI_COMM_WORLD. With MPICH 5,
 * errors on MPI_COMM_SELF are still raised unless the program has set an error handler for it.
 */
void qmpi_quiet_errors_begin(struct qmpi_quiet_errors *quiet, MPI_Comm comm);
void qmpi_quiet_errors_end(struct qmpi_quiet_errors *quiet);

#endif
