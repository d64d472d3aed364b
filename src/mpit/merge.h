/* SPDX-License-Identifier: MIT */
/*
 * Where src/mpit meets the dispatcher. In a stack that has layers the chains of the MPI_T functions
 * end in merged functions instead of the MPI library's own (see merged.h): from the start, for a
 * layer may publish at any time, and what ends a chain is never changed once a layer stands on it.
 * Without layers there is nobody to publish, and MPI_T_X leads straight to the MPI library. Layers
 * that call PMPI_T_X see the library alone, except that all initialising and finalizing is counted.
 */
#ifndef QMPI_MPIT_MERGE_H
#define QMPI_MPIT_MERGE_H

#include "dispatch/chain.h"

/*
 * Puts the merged functions into `lasts`, the ends of the chains, and those that count who uses
 * MPI_T into `pmpi`, what PMPI_X lead to. Both hold the library's functions before.
 */
void qmpi_mpit_merge(qmpi_function **terminators, qmpi_function **pmpi);

/* A layer has no place in the stack after all: what it published goes out of sight. */
void qmpi_mpit_leave_out(int tool_id);

#endif
