/* SPDX-License-Identifier: MIT */
/* The parts of a process's result that are made elsewhere than in build.c, and what they share. */
#ifndef QMPI_PROFILE_BUILD_PARTS_H
#define QMPI_PROFILE_BUILD_PARTS_H

#include "layer.h"
#include "result.h"

/* The spread of what one rank has. */
struct profile_spread build_spread(double value);

/* What was noted, in seconds; `tick` is how long a tick is. */
void build_calls(struct profile_calls *calls, const struct stats *stats, double tick);

/* All under the layer's lock. False: memory is out. */
bool build_functions(struct profile_result *result, const struct layer *layer, double tick);
bool build_regions(struct profile_result *result, const struct layer *layer, double tick);
bool build_callsites(struct profile_result *result, const struct layer *layer, double tick);

#endif
