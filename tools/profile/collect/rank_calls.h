/* SPDX-License-Identifier: MIT */
/*
 * The parts of the result of this process that consist of calls, summed up over its threads:
 * functions, regions and call sites, the time between calls, and the calls in progress. The header
 * also declares helpers that rank_result.c, rank_flights.c and rank_outside.c use.
 */
#ifndef QMPI_TOOL_PROFILE_COLLECT_RANK_CALLS_H
#define QMPI_TOOL_PROFILE_COLLECT_RANK_CALLS_H

#include "tools/profile/collect/flights_seen.h"
#include "tools/profile/layer.h"
#include "tools/profile/result/profile.h"

/* A result that is being made. */
struct rank_build {
    struct profile_result *result;
    const struct layer *layer; /* Its lock is held, unless a crash made this impossible. */
    const struct flights_seen *flights;
    double tick; /* the length of a tick in seconds */
};

/* Returns the spread of a value that only this rank has. */
struct profile_spread rank_spread(double value, int rank);

/* Converts figures from ticks to seconds. */
void rank_calls_convert(struct profile_calls *calls, const struct thread_stats *stats,
                        const struct rank_build *build);

/* Appends the frames of a call site's key to `frames`, which has room for `depth` more, and adds
 * their number to *count. Returns false if memory is exhausted. */
bool rank_calls_copy_frames(struct profile_frame *frames, int *count, const uint64_t *key,
                            size_t depth);

/* These return the time in MPI, in ticks: rank_mpi_ticks that of calls that have ended, and
 * rank_flight_mpi_ticks that of calls in progress, up to the moment at which they were listed.
 * Calls within other calls add nothing, because the outer calls include their time, nor do calls
 * outside application time. */
uint64_t rank_mpi_ticks(const struct layer *layer);
uint64_t rank_flight_mpi_ticks(const struct rank_build *build);

/* Returns how many of `time` seconds the threads that call MPI spent outside MPI, on average. `mpi`
 * is the sum of their times in MPI. */
double rank_useful(int threads, double time, double mpi);

/* Returns the number of threads that called MPI, but at least 1. A thread that continues the tables
 * of a thread that has ended (threads.h) is not counted again. */
int rank_thread_count(const struct layer *layer);

/* Returns the name of this machine, which the caller frees, or NULL if memory is exhausted. */
char *rank_host(void);

/* Each of these makes one part of the result, which includes the calls in progress. They return
 * false if memory is exhausted. */
bool rank_build_functions(const struct rank_build *build);
bool rank_build_regions(const struct rank_build *build);
bool rank_build_callsites(const struct rank_build *build);

/* Makes the list of the time outside MPI between calls (rank_outside.c). Returns false if memory is
 * exhausted. */
bool rank_build_outside(const struct rank_build *build);

/* Makes the list of the calls in progress (rank_flights.c): where each was made, and for what it
 * waits. Ranks are translated to MPI_COMM_WORLD, so that the calls of several processes can be
 * compared. No MPI call is made. Returns false if memory is exhausted. */
bool rank_build_flights(const struct rank_build *build);

#endif
