/* SPDX-License-Identifier: MIT */
/* This adds the calls in progress to the result of this process: where each was made, and for what
 * it waits. Ranks become those in MPI_COMM_WORLD, so that the calls of several processes can be
 * compared. No MPI call is made. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_RANK_FLIGHTS_H
#define QMPI_TOOL_PROFILE_COLLECT_RANK_FLIGHTS_H

#include "tools/profile/collect/rank_calls.h"

/* Returns false if memory is exhausted. */
bool rank_flights_build(const struct rank_build *build);

#endif
