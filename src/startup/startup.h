/* SPDX-License-Identifier: MIT */
/*
 * Start-up: the first MPI call builds the stack. What has a number is called by the assembler of
 * the entries alone; `caller` is the address to which the call returns.
 */
#ifndef QMPI_STARTUP_STARTUP_H
#define QMPI_STARTUP_STARTUP_H

#include "dispatch/chain.h"

/* Where the call of MPI_X leads; builds the stack first if nobody has. */
qmpi_function *qmpi_start_call(int number, const void *caller) QMPI_HIDDEN;

/* Where a call of PMPI_X leads. */
qmpi_function *qmpi_start_base(int number, const void *caller) QMPI_HIDDEN;

/* Builds the stack if nobody has; nothing in the thread that is building it. */
void qmpi_start(void) QMPI_HIDDEN;

#endif
