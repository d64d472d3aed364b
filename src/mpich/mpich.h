/* SPDX-License-Identifier: MIT */
/*
 * MPICH's variant of QMPI, which MPICH's mpi.h declares. Its interceptors receive a context of one
 * pointer, which has no meaning here, and the tool_id of the layer. A tool queries the next
 * function together with the tool_id of its layer, and passes the context and this tool_id to the
 * function. Chains may contain layers of both kinds: each node can be called in both ways, and one
 * of the two functions in the node of a layer is the interceptor of the tool.
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
