/* SPDX-License-Identifier: MIT */
/*
 * Detects a launcher of another MPI. With such a launcher, each process is a singleton: a job of
 * four ranks becomes four programs with one rank each, whose results look plausible, and tools
 * would report them without a warning.
 */
#ifndef QMPI_STARTUP_SINGLETON_H
#define QMPI_STARTUP_SINGLETON_H

#include "dispatch/dispatch.h"

/* Makes the terminators of MPI_Init and MPI_Init_thread check for this situation. */
void qmpi_singleton_watch(qmpi_function **terminators);

#endif
