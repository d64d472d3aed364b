/* SPDX-License-Identifier: MIT */
/*
 * The MPI library's own MPI_T, which the merged functions stand in front of: how it is called, who
 * has initialised it, and the reference to it that we hold ourselves.
 */
#ifndef QMPI_MPIT_LIBRARY_H
#define QMPI_MPIT_LIBRARY_H

#include "dispatch/chain.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The library's MPI_T_X: LIBRARY(cvar_get_num, CVAR_GET_NUM)(&count). */
#define LIBRARY(x, X) QMPI_PMPI(T_##x, T_##X)

/*
 * How often MPI_T_init_thread was called without its MPI_T_finalize, through the stack or as
 * PMPI_T_init_thread. 0: MPI_T is not initialised.
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
 * Takes a reference to the library's MPI_T of our own, once, for good. Its tables can then be asked
 * whoever else comes and goes: MPICH 4.0.2 frees them with the last MPI_T_finalize, or in
 * MPI_Finalize, and does not make them again. False: the library's MPI_T cannot be initialised.
 */
bool qmpi_mpit_hold(void);

/* Whether the library's tables can be asked. */
bool qmpi_mpit_is_held(void);

/* The merged functions of these names; they stand in front of the library's. */
int qmpi_mpit_init_thread(int required, int *provided);
int qmpi_mpit_finalize(void);
int qmpi_mpit_mpi_finalize(void);
#if MPI_VERSION >= 4
int qmpi_mpit_session_finalize(MPI_Session *session);
#endif

#endif
