/* SPDX-License-Identifier: MIT */
/*
 * This measures how long point-to-point calls wait for their peers, by call site. A call that takes
 * longer than the size of its data explains is assumed to have waited for its peer: a receive waits
 * for the sender, and a send for the receiver. If a call completes several operations, the waiting
 * time is divided equally among them, and so among their peers. The call counts once for each peer.
 * Times are in ticks (toolkit/ticks.h).
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_WAITS_H
#define QMPI_TOOL_PROFILE_RECORD_WAITS_H

#include "tools/profile/record/threads.h"

#include <qmpi/observer.h>

/* A call that takes no more ticks than this is assumed not to have waited. */
extern uint64_t waits_floor __attribute__((visibility("hidden")));

/* Sets waits_floor. Call this in `init`, after ticks_refine. */
void waits_start(void);

/* Call this when a call that may complete operations has returned after `time` ticks, before
 * waits_add_peer is called for each operation that it has completed. */
static inline void waits_expect(struct thread_profile *thread, uint64_t time)
{
    thread->completed.count = 0;
    thread->completed.bytes = 0;
    thread->completed.is_wanted = time > waits_floor;
}

/* Translates a rank of a communicator to MPI_COMM_WORLD. Returns -1 if the result is unknown or
 * `rank` is negative, such as MPI_PROC_NULL. `comm` may be MPI_COMM_NULL. */
int waits_find_world_rank(MPI_Comm comm, int rank);

/* Adds a receive or a send of `bytes` that the returning call has completed. `peer` is the rank of
 * the other side in MPI_COMM_WORLD; -1: unknown. */
void waits_add_peer(struct thread_profile *thread, int peer, uint64_t bytes);

/* Counts how long a call waited, if it may have waited. `time` must exceed waits_floor. `bytes` is
 * what the call moved itself, without the operations that it completed. */
void waits_add(struct thread_profile *thread, const QMPIX_Call *call,
               const struct thread_site *site, uint64_t time, uint64_t bytes);

#endif
