/* SPDX-License-Identifier: MIT */
/* See receives.h: calls that complete requests, and what came. */
#include "record/receives_parts.h"

#include "layer.h"
#include "record/callsites.h"
#include "record/peer_waits.h"
#include "record/receives.h"
#include "record/traits.h"
#include "toolkit/toolkit.h"

#include <string.h>

static inline const struct completion *completion_of(const QMPIX_Call *call)
{
    return &completions_all[traits_all[call->function->number].completion];
}

/* ---- Before ---------------------------------------------------------------------------------- */

void receives_hold(struct layer *layer, struct flight *flight, const QMPIX_Call *call)
{
    const struct completion *completion = completion_of(call);
    const int count = completion->count < 0 ? 1 : argument_int(call, completion->count);
    const void *requests = argument_address(call, completion->requests);
    flight->held = NULL;
    for (int i = count - 1; requests && i >= 0; i--) {
        struct receive *receive =
            receives_find(&layer->receives, argument_element_word(call, completion->requests, i));
        if (!receive || !receive->active)
            continue;
        pending_hold(&receive->pending, i, flight->held);
        flight->held = receive;
    }
}

/* ---- What came ------------------------------------------------------------------------------- */

/* A status: an element of an argument of a call. */
struct told {
    const QMPIX_Call *call;
    int argument, element;
};

static bool is_cancelled(const struct told *told)
{
    MPI_Status status;
    int cancelled = 0;
    if (argument_status_at(told->call, told->argument, told->element, &status))
        PMPI_Test_cancelled(&status, &cancelled);
    return cancelled;
}

/* False: there is no status, because memory was out. */
static bool find_bytes(const struct receive *receive, const struct told *told, uint64_t *bytes)
{
    MPI_Count came = 0;
    const int result =
        QMPIX_Call_get_status_bytes(told->call, told->argument, told->element, &came);
    *bytes = (uint64_t)came;
    if (receive->is_whole)
        *bytes = is_cancelled(told) ? 0 : receive->size;
    return result != MPI_ERR_ARG;
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

static void await(struct layer *layer, struct thread *thread, const struct receive *receive,
                  const struct told *told, uint64_t bytes)
{
    MPI_Status status;
    if (argument_status_at(told->call, told->argument, told->element, &status) &&
        status.MPI_SOURCE != MPI_PROC_NULL)
        peer_waits_add(thread, peer_waits_world(comm_of(layer, receive), status.MPI_SOURCE), bytes);
}

/* It has completed; `told` NULL: with an error, and nothing came. Its place is still held. */
static void arrive(struct layer *layer, struct thread *thread, struct receive *receive,
                   const struct told *told)
{
    if (__builtin_expect(receive->is_send, 0)) {
        leave(thread, receive);
        return;
    }
    uint64_t bytes = 0;
    if (told && !find_bytes(receive, told, &bytes))
        return;
    if (bytes)
        note_bytes(layer, thread, receive, bytes);
    if (__builtin_expect(thread->completed.is_wanted && told, 0))
        await(layer, thread, receive, told, bytes);
    note_add(&thread->arrived, 1);
    receives_complete_now(receive);
}

/* ---- After ----------------------------------------------------------------------------------- */

struct arrivals {
    struct layer *layer;
    struct thread *thread;
    const QMPIX_Call *call;
};

static void end_one(void *data, struct pending *pending, int argument, int element)
{
    const struct arrivals *arrivals = data;
    struct receive *receive = (struct receive *)pending;
    const struct told told = {arrivals->call, argument, element};
    if (receive->active)
        arrive(arrivals->layer, arrivals->thread, receive, argument < 0 ? NULL : &told);
}

void receives_complete(struct layer *layer, struct thread *thread, struct flight *flight,
                       const QMPIX_Call *call)
{
    struct arrivals arrivals = {layer, thread, call};
    struct pending *held = flight->held;
    flight->held = NULL;
    if (!held)
        return;
    completions_each(call, completion_of(call), held, end_one, &arrivals);
    for (struct pending *next; held; held = next) {
        struct receive *receive = (struct receive *)held;
        next = held->next_held;
        if (!receive->active && !receive->persistent)
            receives_drop(receive);
        else
            pending_release(held);
    }
}
