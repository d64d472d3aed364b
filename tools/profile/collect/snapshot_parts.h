/* SPDX-License-Identifier: MIT */
/* The parts of a process's result that are made elsewhere than in snapshot.c, and what they share.
 */
#ifndef QMPI_TOOL_PROFILE_COLLECT_SNAPSHOT_PARTS_H
#define QMPI_TOOL_PROFILE_COLLECT_SNAPSHOT_PARTS_H

#include "layer.h"
#include "profile/profile.h"
#include "record/flights_seen.h"

/* The spread of what this rank has. */
struct profile_spread build_spread(double value, int rank);

/* What was noted, in seconds; `tick` is how long a tick is. */
void build_calls(struct profile_calls *calls, const struct stats *stats, double tick, int rank);

/* The frames of a call site's key; there is room for `depth`. False: memory is out. */
bool build_frames(struct profile_frame *frames, int *count, const uint64_t *key, size_t depth);

/* The time in MPI, a call from within a call once, in ticks: in the region, or -1: in all; and that
 * of the calls under way so far. */
uint64_t build_share(const struct layer *layer, int region);
uint64_t build_flight_share(const struct layer *layer, const struct flights_seen *flights);

/* Of `time` seconds in the region, those outside MPI, of which `mpi` is the sum over threads: the
 * mean over the threads that called MPI there. */
double build_useful(const struct layer *layer, int region, double time, double mpi);

/* The number of threads that called MPI in the region, or at all, at least 1. */
int build_thread_count(const struct layer *layer, int region);

/* The name of this machine, to be freed; NULL: memory is out. */
char *build_host(void);

/* All under the layer's lock, the calls under way among the others. False: memory is out. */
bool build_functions(struct profile_result *result, const struct layer *layer,
                     const struct flights_seen *flights, double tick);
bool build_regions(struct profile_result *result, const struct layer *layer,
                   const struct flights_seen *flights, double tick);
bool build_callsites(struct profile_result *result, const struct layer *layer,
                     const struct flights_seen *flights, double tick);
bool build_windows(struct profile_result *result, const struct layer *layer,
                   const struct flights_seen *flights, double tick);
bool build_flights(struct profile_result *result, const struct layer *layer,
                   const struct flights_seen *flights, double tick);

#endif
