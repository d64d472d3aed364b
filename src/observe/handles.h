/* SPDX-License-Identifier: MIT */
/*
 * Whether a handle from the program can be used in a query of MPI. If a query fails, MPI invokes an
 * error handler of the program, which by default ends the job. This may happen even if MPI would
 * accept the program's own call, or if the program expects that its own call fails. The checks here
 * invoke no error handler of the program.
 *
 * They are necessary for handles that MPI has not checked yet: those in `before`, and those that
 * tools pass to helper functions outside of callbacks. A call that has succeeded has checked the
 * handles that it uses. (It may not have checked others, such as the datatype of a message without
 * elements.)
 */
#ifndef QMPI_OBSERVE_HANDLES_H
#define QMPI_OBSERVE_HANDLES_H

#include <mpi.h>
#include <stdbool.h>

/* These functions may also return false if MPI cannot be asked: before MPI_Init if the MPI library
 * has no sessions, after MPI_Finalize, or if the MPI library has no suitable query. */
bool qmpi_handle_is_type(MPI_Datatype type);
bool qmpi_handle_is_comm(MPI_Comm comm);

#endif
