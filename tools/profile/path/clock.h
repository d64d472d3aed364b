/* SPDX-License-Identifier: MIT */
/*
 * The logical clocks of a process, one for each thread that calls MPI. Only work advances them:
 * time outside MPI while profiling is on. What a thread waits for sets its clock forward to that of
 * the rank for which it waited. A clock therefore tells how long the longest chain of work is that
 * leads to this moment, and the largest one at the end is the length of the critical path.
 *
 * The clock of a new thread begins with that of the thread which left MPI last.
 */
#ifndef QMPI_TOOL_PROFILE_PATH_CLOCK_H
#define QMPI_TOOL_PROFILE_PATH_CLOCK_H

#include "toolkit/toolkit.h"

#include <stdbool.h>
#include <stdint.h>

struct path_send;

struct path_clock {
    uint64_t value;        /* in units of 2^-PATH_CLOCK_BITS ns */
    uint64_t since;        /* tick at which the thread left MPI; 0: it has not called it yet */
    const void *outermost; /* identifies its call under way; NULL: none */
    bool busy;             /* messages of clocks are under way */
    bool sent;             /* the call under way has sent the clock */
    bool used;             /* by a live thread */
    struct path_send *idle, *pending, **pending_end; /* see sends.h */
    const struct path_clocks *clocks;
    struct path_clock *next;           /* of the same layer */
    struct path_clock *next_of_thread; /* of another layer */
};

/* Of one layer. */
struct path_clocks {
    struct path_clock *all;
    uint64_t value, since; /* of the thread that left MPI last */
    uint64_t most;         /* of the threads that have ended */
};

enum { PATH_CLOCK_BITS = 10 };

/* In `init`. */
void path_clocks_start(void);

/* The clock of this thread; NULL: memory is exhausted. */
struct path_clock *path_clock_find(struct path_clocks *clocks);

/* A call begins at tick `entry`, and has ended at `exit`. `word` identifies it by its place on the
 * stack: calls within a call do not count. `works`: whether what is outside MPI is work. */
void path_clock_begin(struct path_clocks *clocks, struct path_clock *clock, const void *word,
                      uint64_t entry, bool works);
void path_clock_end(struct path_clocks *clocks, struct path_clock *clock, const void *word,
                    uint64_t exit);

/* What was outside MPI until now was no work. */
void path_clock_restart(struct path_clocks *clocks, struct path_clock *clock, uint64_t now);

/* Something that happened at `value` is known to the thread from now on. */
static inline void path_clock_reach(struct path_clock *clock, uint64_t value)
{
    if (value > clock->value)
        __atomic_store_n(&clock->value, value, __ATOMIC_RELAXED);
}

/* The largest clock of a layer now. Any thread, also in a signal handler. */
uint64_t path_clocks_now(const struct path_clocks *clocks, bool works);

static inline double path_clocks_to_seconds(uint64_t value)
{
    return (double)value * 1e-9 / (1 << PATH_CLOCK_BITS);
}

#endif
