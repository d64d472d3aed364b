/* SPDX-License-Identifier: MIT */
/*
 * Whether a handle that the program has passed may be passed on to a query of MPI. If a query
 * fails, MPI invokes an error handler of the program, which ends the job by default, while the
 * program's own call may be one that MPI accepts or whose error the program expects. The checks
 * here invoke no error handler of the program.
 *
 * They are for handles that MPI has not checked yet: those in `before`, and those of helper
 * functions that know no call. A call that has succeeded has checked what it uses. (It need not
 * have looked at the rest, such as the datatype of a message without elements.)
 */
#ifndef QMPI_OBSERVE_HANDLES_H
#define QMPI_OBSERVE_HANDLES_H

#include <mpi.h>
#include <stdbool.h>

/* False also: it cannot be found out now, because MPI is not initialized, or because the program
 * uses only sessions, or because the MPI library has no query that could tell. */
bool qmpi_handle_is_type(MPI_Datatype type);
bool qmpi_handle_is_comm(MPI_Comm comm);

#endif
