/* SPDX-License-Identifier: MIT */
/*
 * MPICH's variant of QMPI, which MPICH's mpi.h declares. Its interceptors receive a context of one
 * pointer, which has no meaning here, and the tool_id of their layer. A tool queries the next
 * function and the tool_id of that function's layer, and passes its context and this tool_id to the
 * function. Chains may contain layers of QMPI and of this variant: each node has a function for
 * callers of either kind, and in the node of a layer, one of the two is the tool's interceptor.
 */
#ifndef QMPI_MPICH_MPICH_H
#define QMPI_MPICH_MPICH_H

#include "dispatch/dispatch.h"

/*
 * Redirects all references to the calls of MPICH's variant to libqmpi, if the loader finds the
 * definitions of the MPI library first. Does nothing if no object has been loaded since the last
 * call.
 */
void qmpi_mpich_override(void);

#endif
