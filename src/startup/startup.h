/* SPDX-License-Identifier: MIT */
/*
 * Start-up: the first MPI call builds the stack. Functions with the parameter `number` are called
 * only by the assembler code of the entry points; `caller` is the return address of the MPI call.
 */
#ifndef QMPI_STARTUP_STARTUP_H
#define QMPI_STARTUP_STARTUP_H

#include "dispatch/dispatch.h"

/* Returns the target of a call of MPI_X; builds the stack if necessary. */
qmpi_function *qmpi_start_call(int number, const void *caller) QMPI_HIDDEN;

/* Returns the target of a call of PMPI_X. */
qmpi_function *qmpi_start_base(int number, const void *caller) QMPI_HIDDEN;

/* Builds the stack if necessary; does nothing in the thread that is building it. */
void qmpi_start(void) QMPI_HIDDEN;

#endif
