/* SPDX-License-Identifier: MIT */
/* See receives.h: calls that complete requests, and what came. */
#include "record/receives_parts.h"

#include "layer.h"
#include "record/callsites.h"
#include "record/completions.h"
#include "record/peer_waits.h"
#include "record/receives.h"
#include "record/status.h"
#include "record/traits.h"

#include <string.h>

static inline const struct completion *completion_of(const QMPIX_Call *call)
{
    return &completions_all[traits_all[call->function->number].completion];
}

static const MPI_Request *requests_of(const QMPIX_Call *call, const struct completion *completion)
{
    return ARGUMENT(call, completion->requests, MPI_Request *);
}

/* ---- Before ---------------------------------------------------------------------------------- */

void receives_hold(struct layer *layer, struct flight *flight, const QMPIX_Call *call)
{
    const struct completion *completion = completion_of(call);
    const int count = completion->count < 0 ? 1 : ARGUMENT(call, completion->count, int);
    const MPI_Request *requests = requests_of(call, completion);
    flight->receives = NULL;
    for (int i = 0; requests && i < count; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        struct receive *receive = receives_find(&layer->receives, HANDLE_WORD(requests[i]));
        if (!receive || !receive->active)
            continue;
        __atomic_store_n(&receive->held, true, __ATOMIC_RELEASE);
        receive->place = i;
        receive->next_held = flight->receives;
        flight->receives = receive;
    }
}

/* ---- What came ------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct receive *receive, const MPI_Status *status)
{
    uint64_t bytes = 0;
    if (status_is_cancelled(status))
        return 0;
    if (receive->is_whole)
        return receive->size;
    return status_bytes(status, &bytes) ? bytes : 0;
}

/* The call that posted it was noted with what was known then. */
static void change_bin(struct function_row *row, uint64_t before, uint64_t now)
{
    uint64_t *from = before ? &row->sizes[note_bin(before, PROFILE_SIZE_BINS)] : NULL;
    uint64_t *to = &row->sizes[note_bin(now, PROFILE_SIZE_BINS)];
    if (from != to)
        note_add(to, 1);
    if (from && from != to)
        note_add(from, UINT64_MAX);
}

/* The communicator may be gone, and its number another one's. */
static bool still_means(const struct handles *handles, const struct receive *receive)
{
    return __builtin_expect(receive->changes == handles_changes(handles), 1) ||
           handles_find(handles, receive->post_call.comm_handle) ==
               (int)receive->post_call.comm->key;
}

/* The rows of the same keys in this thread's tables, for each thread writes in its own alone. */
static struct receives_post entries_of_thread(struct layer *layer, struct thread *thread,
                                              const struct receives_post *post_call)
{
    const int depth = layer->options.depth;
    struct receives_post entries = *post_call;
    if (entries.site)
        entries.site =
            sites_find_other(thread, site_key(entries.site, (size_t)depth)[0], entries.site, depth);
    if (entries.comm)
        entries.comm = table_get(&thread->comms, &entries.comm->key, 1);
    return entries;
}

static uint64_t add_to_tally(const struct receive *receive, uint64_t bytes)
{
    if (receive->persistent)
        return __atomic_fetch_add(&receive->tally->bytes, bytes, __ATOMIC_ACQ_REL);
    const uint64_t before = receive->tally->bytes;
    receive->tally->bytes = before + bytes;
    return before;
}

static void note_bytes(struct layer *layer, struct thread *thread, const struct receive *receive,
                       uint64_t bytes)
{
    struct receives_post other;
    const struct receives_post *entries = &receive->post_call;
    if (__builtin_expect(receive->thread != thread, 0)) {
        other = entries_of_thread(layer, thread, entries);
        entries = &other;
    }
    if (__builtin_expect(entries->site != NULL, 1)) {
        note_add(&entries->site->stats.received, bytes);
        if (receive->tally) {
            const uint64_t before = add_to_tally(receive, bytes);
            change_bin(entries->site->function, before, before + bytes);
        }
    }
    if (entries->comm && still_means(&layer->comms.handles, receive))
        note_add(&entries->comm->stats.received, bytes);
}

/* The communicator of a receive if it still exists, else MPI_COMM_NULL. */
static MPI_Comm comm_of(const struct layer *layer, const struct receive *receive)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (receive->post_call.comm && still_means(&layer->comms.handles, receive))
        memcpy(&comm, &receive->post_call.comm_handle, sizeof comm);
    return comm;
}

/* The message of a send has been taken. */
static void leave(struct thread *thread, struct receive *send)
{
    if (thread->completed.is_wanted)
        peer_waits_add(thread, send->peer, send->size);
    receives_complete_now(send);
}

/* It has completed; `status` NULL: with an error, and nothing came. Its place is still held. */
static void arrive(struct layer *layer, struct thread *thread, struct receive *receive,
                   const MPI_Status *status)
{
    if (__builtin_expect(receive->is_send, 0)) {
        leave(thread, receive);
        return;
    }
    const uint64_t bytes = status ? bytes_of(receive, status) : 0;
    if (bytes)
        note_bytes(layer, thread, receive, bytes);
    if (__builtin_expect(thread->completed.is_wanted && status, 0) &&
        status->MPI_SOURCE != MPI_PROC_NULL)
        peer_waits_add(thread, peer_waits_world(comm_of(layer, receive), status->MPI_SOURCE),
                       bytes);
    note_add(&thread->arrived, 1);
    receives_complete_now(receive);
}

/* ---- After ----------------------------------------------------------------------------------- */

/* What a call that may complete several requests said of those that it has completed. */
static void complete_some(struct layer *layer, struct thread *thread, struct receive *held,
                          const QMPIX_Call *call, const struct completion *completion)
{
    const int count = *ARGUMENT(call, completion->outcount, int *);
    const int *indices = ARGUMENT(call, completion->indices, int *);
    const MPI_Status *statuses = ARGUMENT(call, completion->statuses, MPI_Status *);
    struct receive *at = held;
    const bool failed = *(const int *)call->result != MPI_SUCCESS;
    if (statuses == MPI_STATUSES_IGNORE || count == MPI_UNDEFINED)
        return;
    /* Implementations list them in order: from the last one downwards this is one walk. */
    for (int i = count - 1; i >= 0; i--) {
        if (!at || at->place < indices[i])
            at = held;
        while (at && at->place > indices[i])
            at = at->next_held;
        if (at && at->place == indices[i] && at->active)
            arrive(layer, thread, at,
                   failed && statuses[i].MPI_ERROR != MPI_SUCCESS ? NULL : &statuses[i]);
    }
}

static void complete_all(struct layer *layer, struct thread *thread, struct receive *held,
                         const QMPIX_Call *call, const struct completion *completion)
{
    const MPI_Status *statuses = ARGUMENT(call, completion->statuses, MPI_Status *);
    const bool failed = *(const int *)call->result != MPI_SUCCESS;
    if (statuses == MPI_STATUSES_IGNORE)
        return;
    for (; held; held = held->next_held) {
        const MPI_Status *status = &statuses[held->place];
        if (!failed || status->MPI_ERROR == MPI_SUCCESS)
            arrive(layer, thread, held, status);
        else if (status->MPI_ERROR != MPI_ERR_PENDING)
            arrive(layer, thread, held, NULL);
    }
}

static void complete_one(struct layer *layer, struct thread *thread, struct receive *held,
                         const QMPIX_Call *call, const struct completion *completion)
{
    const MPI_Status *status = ARGUMENT(call, completion->status, MPI_Status *);
    const int index = completion->index < 0 ? 0 : *ARGUMENT(call, completion->index, int *);
    while (held && held->place != index)
        held = held->next_held;
    if (held && status != MPI_STATUS_IGNORE)
        arrive(layer, thread, held, status);
}

/* The operation's own error came back, and its request is gone. */
static void fail(struct layer *layer, struct thread *thread, struct receive *held,
                 const QMPIX_Call *call, const struct completion *completion)
{
    const MPI_Request *requests = requests_of(call, completion);
    for (; held; held = held->next_held) {
        if (requests[held->place] == MPI_REQUEST_NULL)
            arrive(layer, thread, held, NULL);
    }
}

void receives_complete(struct layer *layer, struct thread *thread, struct flight *flight,
                       const QMPIX_Call *call)
{
    const struct completion *completion = completion_of(call);
    struct receive *held = flight->receives;
    flight->receives = NULL;
    if (!held)
        return;
    const bool succeeded = *(const int *)call->result == MPI_SUCCESS;
    if (!succeeded && !completions_in_status(call, completion))
        fail(layer, thread, held, call, completion);
    else if (succeeded && completion->flag >= 0 && !*ARGUMENT(call, completion->flag, int *))
        ;
    else if (completion->outcount >= 0)
        complete_some(layer, thread, held, call, completion);
    else if (completion->statuses >= 0)
        complete_all(layer, thread, held, call, completion);
    else
        complete_one(layer, thread, held, call, completion);
    for (struct receive *next; held; held = next) {
        next = held->next_held;
        if (!held->active && !held->persistent)
            receives_drop(held);
        else
            __atomic_store_n(&held->held, false, __ATOMIC_RELEASE);
    }
}
