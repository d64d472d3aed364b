/* SPDX-License-Identifier: MIT */
/*
 * The calls that a thread is in: the program's, and those from within it (a callback of an
 * attribute that calls MPI). Each thread notes its own, on every call and without a lock; whoever
 * saves the process while it hangs, or is killed, reads them all, and sees each whole or not at
 * all.
 */
#ifndef QMPI_PROFILE_FLIGHTS_H
#define QMPI_PROFILE_FLIGHTS_H

#include "toolkit/clock.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

struct thread;
struct stats;
struct receive;

enum flight_state {
    FLIGHT_RUNS,  /* it counts when it has ended */
    FLIGHT_WAITS, /* sync=yes: for the other ranks; it has not begun */
    FLIGHT_NOTED, /* it has been counted already: MPI_Finalize */
};

/* Written by its thread alone, word by word; `since` first and last (0: nothing is under way). */
struct flight {
    uint64_t since; /* tick at which the state began; what QMPIX_Word holds where it runs */
    uint64_t state, number, wait, comm, file; /* handles; where the function has none: 0 */
    const QMPIX_Word *word;
    struct stats *site;           /* in the thread's table; NULL: memory was out */
    struct receive *receives;     /* the thread's own: those that the call may complete */
    struct flight *outer, *inner; /* made once, in this order, and used again */
};

/* The innermost call of a thread; NULL: it is in none. */
struct flight *flights_top(const struct thread *thread);

/*
 * A call begins; those that were left by a jump are forgotten. NULL: memory is out.
 */
struct flight *flights_begin(struct thread *thread, const QMPIX_Word *word);

void flights_describe(struct flight *flight, uint64_t number, uint64_t comm, uint64_t file,
                      struct stats *site);

/* It has waited for the others so long. */
void flights_wait(struct flight *flight, uint64_t ticks);

/* From now on, or anew, it can be seen, since `since`. Those that do not count never are. */
void flights_show(struct flight *flight, enum flight_state state, uint64_t since);

/* The call of a word ends, and can be seen no longer: what it noted is valid until the next one
 * begins. NULL: it is not known. */
struct flight *flights_end(struct thread *thread, const QMPIX_Word *word);

/* The thread is in no call any more. */
void flights_forget(struct thread *thread);

/* ---- Readers ------------------------------------------------------------------------------------
 */

/* What a flight was at one moment. */
struct flight_seen {
    const struct flight *flight;
    uint64_t since, state, number, wait, comm, file, time; /* `time`: ticks so far */
    const struct stats *site;
    bool outermost;
};

struct flights_seen {
    struct flight_seen *all;
    size_t count;
};

/* All that is under way in a layer, of all threads. Any thread, at any time. False: memory is out.
 */
bool flights_see(struct flights_seen *seen, int tool_id);

/* Drops those that have ended since they were seen: they may have been counted. Whether all are
 * still under way. */
bool flights_see_again(struct flights_seen *seen);

#endif
