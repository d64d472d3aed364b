/* SPDX-License-Identifier: MIT */
/*
 * The MPI_T of the MPI library, which the merged functions call: access to it, how often it is
 * initialized, and a reference of libqmpi to it.
 */
#ifndef QMPI_MPIT_LIBRARY_H
#define QMPI_MPIT_LIBRARY_H

#include "dispatch/dispatch.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The library's MPI_T_X: LIBRARY(cvar_get_num, CVAR_GET_NUM)(&count). */
#define LIBRARY(x, X) QMPI_PMPI(T_##x, T_##X)

/*
 * The number of calls of MPI_T_init_thread minus those of MPI_T_finalize, through the stack or as
 * PMPI_T_X. 0: MPI_T is not initialized.
 */
extern atomic_int qmpi_mpit_users QMPI_HIDDEN;

static inline bool qmpi_mpit_is_initialised(void)
{
    return atomic_load_explicit(&qmpi_mpit_users, memory_order_relaxed) > 0;
}

/* The library's MPI_T_PVAR_ALL_HANDLES; set once by qmpi_mpit_library_start. */
extern MPI_T_pvar_handle qmpi_mpit_all_handles QMPI_HIDDEN;

void qmpi_mpit_library_start(void);

/*
 * Initializes the MPI_T of the library for libqmpi, once, without ever finalizing it. Its tables
 * then stay available: MPICH 4.0.2 frees them in the last MPI_T_finalize or in MPI_Finalize, and
 * does not create them again. Returns false if the library's MPI_T cannot be initialized.
 */
bool qmpi_mpit_hold(void);

/* Whether the tables of the library are available. */
bool qmpi_mpit_is_held(void);

/* The merged functions of these names, which replace those of the library. */
int qmpi_mpit_init_thread(int required, int *provided);
int qmpi_mpit_finalize(void);
int qmpi_mpit_mpi_finalize(void);
#ifdef MPI_SESSION_NULL
int qmpi_mpit_session_finalize(MPI_Session *session);
#endif

#endif
