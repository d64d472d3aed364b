/* SPDX-License-Identifier: MIT */
/* The headers of a PMPI tool of the storm: MPI's, and the generated rows of wrappers. */
#ifndef STORM_HOSTED_TOOL_H
#define STORM_HOSTED_TOOL_H

#include "tool.h"

#include <mpi.h>

#include "storm_hosted.h"

#endif
