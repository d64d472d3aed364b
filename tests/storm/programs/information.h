/* SPDX-License-Identifier: MIT */
/* The performance variable that signal handlers read. The step `watch` sets it before there are any
 * signals. */
#ifndef STORM_INFORMATION_H
#define STORM_INFORMATION_H

#include <mpi.h>

extern MPI_T_pvar_session storm_pvar_session;
extern MPI_T_pvar_handle storm_pvar_handle;
extern int storm_pvar_count; /* the number of its values, or 0 if there is no such variable */

#endif
