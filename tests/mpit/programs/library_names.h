/* SPDX-License-Identifier: MIT */
/* Control variables that the MPI library has: an int that may be written, and one whose name the
 * layer `publisher` wants too. */
#ifndef LIBRARY_NAMES_H
#define LIBRARY_NAMES_H

#include <mpi.h>

#ifdef OPEN_MPI
#define LIBRARY_CVAR "coll_tuned_allreduce_algorithm_segmentsize"
#define TAKEN_NAME "coll_tuned_bcast_algorithm_segmentsize"
#else
#define LIBRARY_CVAR "MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE"
#define TAKEN_NAME "MPIR_CVAR_ENABLE_HCOLL"
#endif

#endif
