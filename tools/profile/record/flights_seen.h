/* SPDX-License-Identifier: MIT */
/* The calls under way in all threads of a layer, for whoever saves the process meanwhile. */
#ifndef QMPI_TOOL_PROFILE_RECORD_FLIGHTS_SEEN_H
#define QMPI_TOOL_PROFILE_RECORD_FLIGHTS_SEEN_H

#include "record/threads.h"

/* What a flight was at one moment. */
struct flight_seen {
    const struct flight *flight;
    enum flight_state state;
    uint64_t mark, number, wait, comm, file;
    uint64_t since, time; /* ticks so far */
    const struct site *site;
    bool outermost;
};

struct flights_seen {
    uint64_t moment; /* the tick at which they were seen */
    struct flight_seen *all;
    size_t count;
};

/* All that is under way in a layer, of all threads. Any thread, at any time. False: memory is out.
 */
bool flights_see(struct flights_seen *seen, int tool_id);

/* Drops those that have ended since they were seen: they may have been counted. Whether all are
 * still under way. */
bool flights_see_again(struct flights_seen *seen);

/* What a call under way has cost so far. False: it has been noted already. */
bool flight_stats(const struct flight_seen *flight, struct stats *stats);

#endif
