/* SPDX-License-Identifier: MIT */
/*
 * Sends that a call posts and another one completes: a large or synchronous one completes when its
 * receiver is there, so that the call that completes it waits for the receiver. They are kept among
 * the receives, by their requests; small ones, which MPI libraries copy, are not.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_SENDS_H
#define QMPI_TOOL_PROFILE_RECORD_SENDS_H

#include "record/traits.h"

/* Fewer bytes are sent without waiting for the receiver, but by MPI_Issend. */
enum { SENDS_LARGE = 4096 };

struct layer;

/* After a call that succeeded of a function that has such a role, for which sends_may_wait. */
void sends_post(struct layer *layer, const QMPIX_Call *call, uint64_t bytes);

/* Whether a send of `bytes` may wait for its receiver. MPI_Send_init has sent nothing yet. */
static inline bool sends_may_wait(const struct traits *traits, uint64_t bytes)
{
    return traits->sends != SENDS_NOTHING &&
           (traits->sends != SENDS_IMMEDIATELY || bytes >= SENDS_LARGE);
}

#endif
