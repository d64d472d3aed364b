/* SPDX-License-Identifier: MIT */
/*
 * The relation of this process's clock to that of rank 0 of MPI_COMM_WORLD: measured at the end of
 * MPI_Init and at the beginning of MPI_Finalize, if a layer requests it. Between the two moments
 * it is interpolated.
 */
#ifndef QMPI_CLOCK_OFFSETS_H
#define QMPI_CLOCK_OFFSETS_H

#include "functions/functions.h"

/* Wraps the terminators of the functions that initialize and finalize MPI. Called before any layer
 * is added. */
void qmpi_offsets_watch(qmpi_function **terminators);

/* Requests the measurements. Called while the stack is built. */
void qmpi_offsets_request(void);

/* Measures for the second time, if it was requested; further calls have no effect. Collective over
 * MPI_COMM_WORLD. Called before MPI_Finalize. */
void qmpi_offsets_finish(void);

#endif
