/* SPDX-License-Identifier: MIT */
/* What receives.c, which knows the requests, and receives_complete.c, which finds out what came,
 * share. */
#ifndef QMPI_TOOL_PROFILE_RECORD_RECEIVES_PARTS_H
#define QMPI_TOOL_PROFILE_RECORD_RECEIVES_PARTS_H

#include "record/tables.h"

/* What a call that posted receives has moved by now: with each that completes it goes to the bin of
 * sizes that it belongs to then. */
struct tally {
    uint64_t bytes;
    uint64_t users; /* receives that have not completed */
};

struct receive {
    struct pending pending; /* its request */
    bool persistent, active;
    bool is_whole; /* partitioned: all of `size` comes */
    bool is_send;  /* of `size`, to the rank `peer` in MPI_COMM_WORLD (-1: unknown): see sends.h */
    int peer;
    uint64_t size, epoch;
    struct thread *thread; /* that posted it */
    struct receives_post post_call;
    uint64_t changes;                 /* handles_changes of communicators when it was posted */
    struct tally first_tally, *tally; /* its call's, which is one of them; NULL: none was free.
                                 Others have a part in it only where they were started by one call:
                                 if it is not persistent it is its own alone. */
};

/* The place for a request of this handle; NULL: memory is exhausted. It is not found before
 * receives_publish. */
struct receive *receives_take(const struct receives *receives, uint64_t handle);
void receives_publish(struct receive *receive, uint64_t handle);

struct receive *receives_find(const struct receives *receives, uint64_t handle);

/* It waits for nothing any more. */
void receives_complete_now(struct receive *receive);

/* Its request is gone, or has no more to do with it. */
void receives_drop(struct receive *receive);

#endif
