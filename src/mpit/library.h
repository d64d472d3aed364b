/* SPDX-License-Identifier: MIT */
/*
 * The MPI_T of the MPI library, which the merged functions call. This part accesses it, counts how
 * often it is initialized, makes layers publish their variables when it is first initialized, and
 * knows the library's handles.
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
 * PMPI_T_X. 0: no user has initialized MPI_T. The number is loaded with relaxed order: a program
 * that uses MPI_T has initialized MPI_T before, in this thread or in one with which this thread has
 * synchronized.
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
 * Initializes the MPI_T of the library for libqmpi, once, without ever finalizing it. The tables of
 * the library then stay available: MPICH 4.0.2 frees them in the last MPI_T_finalize or in
 * MPI_Finalize, and does not create them again. Returns false if the library's MPI_T cannot be
 * initialized.
 */
bool qmpi_mpit_hold(void);

/* Whether the tables of the library are available. */
bool qmpi_mpit_is_held(void);

/* The merged functions (see merged.h) for MPI_T_init_thread, MPI_T_finalize, MPI_Finalize and
 * MPI_Session_finalize. */
int qmpi_mpit_init_thread(int required, int *provided);
int qmpi_mpit_finalize(void);
int qmpi_mpit_mpi_finalize(void);
#ifdef MPI_SESSION_NULL
int qmpi_mpit_session_finalize(MPI_Session *session);
#endif

/* ---- Publishing on demand: see QMPIX_Register_publisher -------------------------------------- */

/* Calls `publish` when MPI_T is next initialized, or immediately if it has been initialized since
 * all layers were initialized. When MPI_T is initialized, the publisher of tool_id 0 is called
 * first.
 */
void qmpi_mpit_lazy_add(int tool_id, void (*publish)(int tool_id));

/* Called when MPI_T is initialized: calls the registered publishers that have not been called yet.
 * If another thread is doing so, waits for it. */
void qmpi_mpit_lazy_start(void);

/* Removes a layer that is left out of the stack, so that it does not publish. */
void qmpi_mpit_lazy_forget(int tool_id);

/* ---- Handles of performance variables -------------------------------------------------------- */

/*
 * libqmpi stores the handles of the library only if the library has the standard ABI.
 * MPI_T_PVAR_ALL_HANDLES cannot be passed on to such a library, which would treat this value as a
 * pointer to a handle (MPICH 5.0.2, Open MPI 6.0.0rc2). To other libraries, it is passed on; they
 * know their handles, including those from PMPI_T_pvar_handle_alloc.
 */

/* MPI_T_pvar_start, stop or reset. */
typedef int qmpi_mpit_library_function(MPI_T_pvar_session session, MPI_T_pvar_handle handle);

/* The library's MPI_T_pvar_handle_alloc, and MPI_T_pvar_handle_free. */
int qmpi_mpit_library_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                                   MPI_T_pvar_handle *handle, int *count);
int qmpi_mpit_library_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle);

/* Forgets the library's handles in a session that is about to end, or that PMPI_T_pvar_session_free
 * has ended. */
void qmpi_mpit_library_handles_forget(MPI_T_pvar_session session);

/* Calls the library's MPI_T_pvar_start, stop or reset for all its handles in a session. */
int qmpi_mpit_library_handles_all(MPI_T_pvar_session session, qmpi_mpit_library_function *function);

#endif
