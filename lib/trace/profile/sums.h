/* SPDX-License-Identifier: MIT */
/* Sums of a profile that is made of a trace: what calls of one kind took and moved. Times are in
 * ticks of the process. */
#ifndef QMPI_TRACE_PROFILE_SUMS_H
#define QMPI_TRACE_PROFILE_SUMS_H

#include "profile/profile.h"
#include "trace/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sums {
    uint64_t calls, time;
    uint64_t shortest, longest, polling; /* see lib/profile/figures.h */
    uint64_t sent, received;
};

/* Of a function, with a set of open regions. */
struct function_sums {
    uint32_t function, node; /* node: see struct regions */
    struct sums sums;
    uint64_t in_mpi; /* time of calls that were neither within another one nor outside the run */
    uint64_t sizes[PROFILE_SIZE_BINS], times[PROFILE_TIME_BINS];
};

struct site_sums {
    uint32_t function, site; /* site: TRACE_NONE: not recorded */
    struct sums sums;
    uint64_t messages;
    struct site_wait {
        int peer;
        uint64_t calls, time;
    } * waits;
    size_t wait_count, wait_room;
};

struct pair_sums {
    uint64_t messages, bytes;
};

void sums_add(struct sums *sums, uint64_t time, uint64_t sent, uint64_t received);

/* The bin of a number: see profile_function. */
unsigned sums_bin(uint64_t number, unsigned bins);

/* The figures of one rank. `tick` in seconds. */
void sums_fill(struct profile_calls *calls, const struct sums *sums, double tick, int rank);
struct profile_spread sums_spread(double value, int rank);

#endif
