/* SPDX-License-Identifier: MIT */
/*
 * Receives that a call posts and another one completes: what came is known then, and is noted in
 * the row and the call site of the call that posted it. A request's handle is another one's as soon
 * as MPI has completed it, before our `after`: so the completing call finds its receives before,
 * and keeps hold of them.
 *
 * No lock and no malloc: the place of a receive is claimed by one exchange, and used again.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_RECEIVES_H
#define QMPI_TOOL_PROFILE_RECORD_RECEIVES_H

#include "record/tables.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

struct layer;

/* What a function does to requests. */
enum receives_role {
    RECEIVES_NOTHING,
    RECEIVES_POSTS,     /* MPI_Irecv and its like */
    RECEIVES_MAKES,     /* MPI_Recv_init: MPI_Start posts it */
    RECEIVES_STARTS,    /* MPI_Start, MPI_Startall */
    RECEIVES_COMPLETES, /* MPI_Wait and its like */
    RECEIVES_FREES      /* MPI_Request_free */
};
enum receives_role receives_role(const QMPIX_Function *function);

bool receives_make(struct receives *receives);

/* After MPI_Irecv and its like that succeeded and was noted. */
void receives_post(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                   const struct receives_post *post_call);

/* After MPI_Start(all), likewise. */
void receives_start(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                    const struct receives_post *post_call);

/* After MPI_Recv_init and its like that succeeded. */
void receives_add(struct layer *layer, const QMPIX_Call *call);

/* Around a call that may complete requests. `flight` is the call's. */
void receives_hold(struct layer *layer, struct flight *flight, const QMPIX_Call *call);
void receives_complete(struct layer *layer, struct thread *thread, struct flight *flight,
                       const QMPIX_Call *call);

/* Before MPI_Request_free. */
void receives_forget(struct layer *layer, const QMPIX_Call *call);

/* The layer was switched off: what completes meanwhile is not seen. */
void receives_lose(struct layer *layer);

/* How many of the receives that were posted have not been seen to complete. */
uint64_t receives_unfinished(int tool_id);

#endif
