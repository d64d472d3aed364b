/* SPDX-License-Identifier: MIT */
/*
 * This follows receives, reads of files, and sends that may wait, which one call posts and another
 * one completes. Reads are handled as receives of no message. The bytes of a receive are known only
 * at its completion, but count for the function and the call site that posted it. MPI may reuse the
 * handle of a request as soon as the request has completed, which is before our callback `after`.
 * Therefore a completing call looks up its receives before MPI runs, and holds them.
 *
 * Recording uses no lock and no malloc: one atomic exchange claims the entry of a receive, and
 * entries are reused.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_RECEIVES_H
#define QMPI_TOOL_PROFILE_RECORD_RECEIVES_H

#include "tools/profile/layer.h"
#include "tools/profile/record/threads.h"
#include "tools/profile/record/traits.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

/* What is known of a posting call, with the rows in which its thread has counted it. */
struct receives_post {
    struct thread_site *site;       /* NULL: memory was exhausted */
    struct thread_object_row *comm; /* NULL: memory was exhausted, or there is no communicator */
    struct thread_object_row *file; /* of a read; NULL: memory was exhausted, or it is no read */
    uint64_t comm_handle;           /* the handle of the communicator */
    uint64_t sent;                  /* bytes that the same call sent */
};

/* Returns false if memory is exhausted. */
bool receives_make(struct layer_receives *receives);

/* Call this after MPI_Irecv or a similar function has succeeded and was counted. */
void receives_post(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
                   const struct receives_post *post_call);

/* Call this after MPI_Start or MPI_Startall has succeeded and was counted. */
void receives_start(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
                    const struct receives_post *post_call);

/* Call this after MPI_Recv_init or a similar function has succeeded. */
void receives_add(struct layer *layer, const QMPIX_Call *call);

/* Call these before and after a call that may complete requests. `flight` belongs to this call. */
void receives_hold(struct layer *layer, struct flight *flight, const QMPIX_Call *call);
void receives_complete(struct layer *layer, struct thread_profile *thread, struct flight *flight,
                       const QMPIX_Call *call);

/* Call this before MPI_Request_free. */
void receives_forget(struct layer *layer, const QMPIX_Call *call);

/* Drops all receives, except that persistent ones only become inactive, because the layer was
 * switched off and misses completions until it is switched on again. */
void receives_lose(struct layer *layer);

/* Returns how many posted receives have not been seen to complete. Any thread may call this. */
uint64_t receives_unfinished(int tool_id);

enum { RECEIVES_MATCHED = -1000000 /* the source and tag of a message that was matched before */ };

/* A message for which a call in progress waits, because the call completes the request of this
 * message. */
struct receives_held {
    bool is_send;
    /* The rank in MPI_COMM_WORLD of the receiver (-1: unknown), or that of the sender in the
     * communicator, such as MPI_ANY_SOURCE. */
    int peer;
    int tag;
    uint64_t comm; /* the handle of the communicator; 0: unknown */
};

/* Lists the messages, `room` at most, for which a call in progress waits, and returns their number.
 * Other threads may call this. The result is valid only if the call is still in progress
 * afterwards. */
int receives_list_held(const struct flight *flight, struct receives_held *all, int room);

/* MPI libraries are assumed to send fewer bytes than this without waiting for the receiver, except
 * in synchronous sends. */
enum { RECEIVES_LARGE_SEND = 4096 };

/* Records a send that may wait. Call this after the call has succeeded, and only if
 * receives_send_may_wait returns true for it. */
void receives_post_send(struct layer *layer, const QMPIX_Call *call, uint64_t bytes);

/* Returns whether a nonblocking or persistent send of `bytes` may wait for its receiver. For a
 * persistent send, `bytes` does not matter, because nothing was sent yet. */
static inline bool receives_send_may_wait(const struct traits *traits, uint64_t bytes)
{
    return traits->sends != SENDS_NOTHING &&
           (traits->sends != SENDS_IMMEDIATELY || bytes >= RECEIVES_LARGE_SEND);
}

#endif
