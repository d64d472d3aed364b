/* SPDX-License-Identifier: MIT */
/*
 * For whom a thread waits in point-to-point calls, and where. A call that takes longer than its
 * data explain has waited for its peer: for the sender of what it receives, or for the receiver of
 * what it sends. A call that completes several operations has waited for the peers of all of them;
 * its time is divided equally among them.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_PEER_WAITS_H
#define QMPI_TOOL_PROFILE_RECORD_PEER_WAITS_H

#include "record/threads.h"

#include <qmpi/observer.h>

/* A call that takes no more ticks has not waited. */
extern uint64_t peer_waits_floor __attribute__((visibility("hidden")));

/* Sets it. From `init`, after ticks_refine. */
void peer_waits_start(void);

/* A call begins to tell which receives it has completed: see peer_waits_add. `time`: its ticks. */
static inline void peer_waits_expect(struct thread *thread, uint64_t time)
{
    thread->completed.count = thread->completed.bytes = 0;
    thread->completed.is_wanted = time > peer_waits_floor;
}

/* The rank in MPI_COMM_WORLD of a rank of a communicator, which may be MPI_COMM_NULL; -1: unknown,
 * or MPI_PROC_NULL. */
int peer_waits_world(MPI_Comm comm, int rank);

/* It has completed one of `bytes`, or a send, from or to a rank of MPI_COMM_WORLD; -1: unknown. */
void peer_waits_add(struct thread *thread, int peer, uint64_t bytes);

/* Notes a call of more than peer_waits_floor ticks that moved `bytes`, if it may have waited. */
void peer_waits_note(struct thread *thread, const QMPIX_Call *call, const struct site *site,
                     uint64_t time, uint64_t bytes);

#endif
