/* SPDX-License-Identifier: MIT */
/*
 * Calls the functions of QMPIX_Register_finalizer in MPI_Finalize.
 *
 * A program may make its last calls in MPI_Finalize, in delete callbacks of attributes of
 * MPI_COMM_SELF. MPI_Finalize first deletes these attributes, in the reverse order in which they
 * were set, and MPI still works in the callbacks (MPI 4.0, section 11.2.4). Therefore, libqmpi sets
 * an attribute of its own before MPI_Init returns. No attribute of the program was set earlier, so
 * this one is deleted last. MPI_Session_finalize deletes no attributes, because MPI_COMM_SELF does
 * not exist in sessions. In a program that uses only sessions, the functions are therefore not
 * called.
 */
#ifndef QMPI_STARTUP_FINALIZERS_H
#define QMPI_STARTUP_FINALIZERS_H

#include "dispatch/dispatch.h"

/* Wraps the targets of the terminators of the functions that initialize and finalize MPI. Called
 * after qmpi_job_watch and qmpi_clock_watch have wrapped the same targets, so that the attribute is
 * set after their work in MPI_Init, but before MPI_Init returns to any layer. */
void qmpi_finalizers_watch(qmpi_function **targets);

#endif
