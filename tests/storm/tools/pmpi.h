/* SPDX-License-Identifier: MIT */
/* Includes what the storm's PMPI tools need: MPI, and the generated lists of functions. */
#ifndef STORM_PMPI_TOOL_H
#define STORM_PMPI_TOOL_H

#include "tool.h"

#include <mpi.h>

#include "storm_pmpi.h"

/* Must be called before the tool itself calls `function` of the layers below. Records this call.
 * The result must be passed to storm_tool_call_end after the call. */
__attribute__((visibility("hidden"))) struct storm_tool_call storm_pmpi_tool_call(int function);

#endif
