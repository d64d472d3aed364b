/* SPDX-License-Identifier: MIT */
/*
 * The interface between src/mpit and the dispatcher. In a stack with layers, the terminators of the
 * MPI_T functions are merged functions instead of those of the MPI library (see merged.h). This is
 * so from the start, because a layer may publish at any time, and the terminator of a chain never
 * changes once a layer is above it. Without layers, nothing is published, and MPI_T_X leads
 * directly to the MPI library. Layers that call PMPI_T_X see only the library, but their
 * initializing and finalizing calls are counted.
 */
#ifndef QMPI_MPIT_MERGE_H
#define QMPI_MPIT_MERGE_H

#include "dispatch/dispatch.h"

/*
 * Puts the merged functions into `terminators`, the ends of the chains, and those that count who
 * uses MPI_T into `pmpi`, what PMPI_X lead to. Both hold the library's functions before.
 */
void qmpi_mpit_merge(qmpi_function **terminators, qmpi_function **pmpi);

/* Hides everything that a layer published which is left out of the stack. */
void qmpi_mpit_leave_out(int tool_id);

#endif
