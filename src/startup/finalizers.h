/* SPDX-License-Identifier: MIT */
/*
 * Calls the functions of QMPIX_Register_finalizer in MPI_Finalize.
 *
 * A program may make its last calls in MPI_Finalize, in delete callbacks of attributes of
 * MPI_COMM_SELF. MPI_Finalize first deletes these attributes, in the reverse order in which they
 * were set, and MPI still works in the callbacks (MPI 4.0, section 11.2.4). Therefore, libqmpi sets
 * an attribute of its own before MPI_Init returns. No attribute of the program was set earlier, so
 * this one is deleted last. MPI_Session_finalize deletes no attributes, because MPI_COMM_SELF does
 * not exist in sessions.
 */
#ifndef QMPI_STARTUP_FINALIZERS_H
#define QMPI_STARTUP_FINALIZERS_H

#include "dispatch/dispatch.h"

/* Wraps the targets of the terminators of the functions that initialize and finalize MPI. Called
 * after the job and the clock have wrapped these targets. When the attribute is set, MPI_Init has
 * not returned to any layer yet. */
void qmpi_finalizers_watch(qmpi_function **targets);

#endif
