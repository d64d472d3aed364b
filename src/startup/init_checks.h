/* SPDX-License-Identifier: MIT */
/*
 * Warns in MPI_Init and MPI_Init_thread of two situations in which results look plausible but are
 * wrong:
 *
 * - A PMPI tool wraps only one of the two functions, and the program, or a tool above, calls the
 *   other one. The tool has then not started when it receives its first call.
 * - The launcher belongs to another MPI, or is a batch system from which the MPI library does not
 *   learn its rank. Each process is then a singleton: a job of four ranks becomes four programs
 *   with one rank each.
 */
#ifndef QMPI_STARTUP_INIT_CHECKS_H
#define QMPI_STARTUP_INIT_CHECKS_H

#include "dispatch/dispatch.h"

#include <stdbool.h>

/* Wraps the targets of the terminators of both functions. One process of the job prints the
 * warnings. `has_pmpi_layers` tells whether to check for the first situation. */
void qmpi_init_checks_watch(qmpi_function **targets, bool has_pmpi_layers);

#endif
