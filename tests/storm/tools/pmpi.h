/* SPDX-License-Identifier: MIT */
/* The headers of a PMPI tool of the storm: MPI's, and the generated rows of wrappers. */
#ifndef STORM_PMPI_TOOL_H
#define STORM_PMPI_TOOL_H

#include "tool.h"

#include <mpi.h>

#include "storm_pmpi.h"

/* Before a call of the layer's own to those below it, which is booked. */
__attribute__((visibility("hidden"))) struct storm_tool_call storm_pmpi_tool_call(int function);

#endif
