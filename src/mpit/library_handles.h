/* SPDX-License-Identifier: MIT */
/*
 * The handles of performance variables that are the MPI library's own, where MPI_T_PVAR_ALL_HANDLES
 * is not passed on to it: libraries with the standard ABI take the ABI's value for a pointer (MPICH
 * 5.0.2, Open MPI 6.0.0rc2). Elsewhere, the library itself knows them, also those that were
 * allocated by PMPI_T_pvar_handle_alloc, and nothing is stored here.
 */
#ifndef QMPI_MPIT_LIBRARY_HANDLES_H
#define QMPI_MPIT_LIBRARY_HANDLES_H

#include <mpi.h>

typedef int qmpi_mpit_library_function(MPI_T_pvar_session session, MPI_T_pvar_handle handle);

/* The library's MPI_T_pvar_handle_alloc, and MPI_T_pvar_handle_free. */
int qmpi_mpit_library_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                                   MPI_T_pvar_handle *handle, int *count);
int qmpi_mpit_library_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle);

/* Its handles in a session that ends, or that ended behind our back. */
void qmpi_mpit_library_handles_forget(MPI_T_pvar_session session);

/* Calls its MPI_T_pvar_start, stop or reset for all its handles in a session. */
int qmpi_mpit_library_handles_all(MPI_T_pvar_session session, qmpi_mpit_library_function *function);

#endif
