/* SPDX-License-Identifier: MIT */
/* This lists the calls in progress in all threads of a layer, for a result that is made before
 * these calls end. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_FLIGHTS_SEEN_H
#define QMPI_TOOL_PROFILE_COLLECT_FLIGHTS_SEEN_H

#include "tools/profile/record/threads.h"

/* A message for which a call waits. */
struct flight_await {
    bool sending;  /* The call waits for the receiver. */
    bool is_world; /* `peer` is a rank in MPI_COMM_WORLD, or -1: unknown. */
    /* The rank (unless `is_world`) and the tag, as the program has passed them. Both are
     * RECEIVES_MATCHED for a message that was matched before. */
    int peer, tag;
    uint64_t comm; /* the handle; 0: unknown */
};
enum { FLIGHT_AWAITS_MOST = 16 };

/* A call in progress (toolkit/flights.h) as it was at one moment. */
struct flight_seen {
    const struct flight *flight;
    enum flight_state state;
    /* `number` is that of the function, and `wait` the ticks spent in the barrier of sync=yes.
     * `comm` and `file` are handles, or 0 if the call has none. `mark` is that of the flight when
     * the call was listed. */
    uint64_t mark, number, wait, comm, file;
    uint64_t since, time; /* the tick at which the state began, and the ticks since then */
    int root;             /* the root of a collective, or -1 if it has none */
    /* The messages for which the call waits, up to FLIGHT_AWAITS_MOST of them. */
    struct flight_await awaits[FLIGHT_AWAITS_MOST];
    int await_count;
    const struct thread_site *site; /* NULL: memory was exhausted */
    bool outermost;                 /* The call was not made within another call. */
};

struct flights_seen {
    uint64_t moment; /* the tick at which the calls were listed */
    struct flight_seen *all;
    size_t count;
};

/* Lists the calls in progress, perhaps without those that begin meanwhile. Any thread may call this
 * at any time. The caller frees `all`. Returns false if memory is exhausted. */
bool flights_see(struct flights_seen *seen, int tool_id);

/* Drops the calls that have ended since they were listed, because they may have been counted since.
 * Returns whether all calls in the list are still in progress. */
bool flights_see_again(struct flights_seen *seen);

/* Finds what a call in progress has cost so far. Returns false if the call was counted already. */
bool flight_stats(const struct flight_seen *flight, struct thread_stats *stats);

#endif
