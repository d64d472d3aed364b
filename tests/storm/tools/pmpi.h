/* SPDX-License-Identifier: MIT */
/* The headers of a PMPI tool of the storm: those of MPI, and the generated rows of wrappers. */
#ifndef STORM_PMPI_TOOL_H
#define STORM_PMPI_TOOL_H

#include "tool.h"

#include <mpi.h>

#include "storm_pmpi.h"

/* Must be called before a call of the layer itself to those below it, which it records. */
__attribute__((visibility("hidden"))) struct storm_tool_call storm_pmpi_tool_call(int function);

#endif
