/* SPDX-License-Identifier: MIT */
/* Start-up: the first MPI call builds the stack. Called by the assembler of the entries alone. */
#ifndef QMPI_START_H
#define QMPI_START_H

#include "chain.h"

/* Where the call of MPI_X leads; builds the stack first if nobody has. */
qmpi_function *qmpi_start_call(int number);

/* Where a call of PMPI_X leads. */
qmpi_function *qmpi_start_base(int number);

#endif
