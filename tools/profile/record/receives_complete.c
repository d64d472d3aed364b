/* SPDX-License-Identifier: MIT */
/* See receives.h: calls that complete requests, and what came. */
#include "record/receives_parts.h"

#include "layer.h"
#include "record/arguments.h"
#include "record/callsites.h"
#include "record/completions.h"
#include "record/peer_waits.h"
#include "record/receives.h"
#include "record/traits.h"

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
    flight->receives = NULL;
    for (int i = 0; requests && i < count; i++) {
        struct receive *receive =
            receives_find(&layer->receives, argument_element_word(call, completion->requests, i));
        if (!receive || !receive->active)
            continue;
        __atomic_store_n(&receive->held, true, __ATOMIC_RELEASE);
        receive->place = i;
        receive->next_held = flight->receives;
        flight->receives = receive;
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

/* The error class of one of several operations, some of which have failed. */
static int error_of(const QMPIX_Call *call, const struct completion *completion, int i)
{
    MPI_Status status = {.MPI_ERROR = MPI_ERR_UNKNOWN};
    argument_status_at(call, completion->statuses, i, &status);
    return status.MPI_ERROR;
}

/* What a call that may complete several requests said of those that it has completed. */
static void complete_some(struct layer *layer, struct thread *thread, struct receive *held,
                          const QMPIX_Call *call, const struct completion *completion)
{
    const int count = argument_int_at(call, completion->outcount);
    const int *indices = argument_address(call, completion->indices);
    struct receive *at = held;
    const bool failed = !argument_result_is_success(call);
    /* Implementations list them in order: from the last one downwards this is one walk. The number
     * may be MPI_UNDEFINED, which is below 0. */
    for (int i = count - 1; i >= 0; i--) {
        if (!at || at->place < indices[i])
            at = held;
        while (at && at->place > indices[i])
            at = at->next_held;
        const struct told told = {call, completion->statuses, i};
        if (at && at->place == indices[i] && at->active)
            arrive(layer, thread, at,
                   failed && error_of(call, completion, i) != MPI_SUCCESS ? NULL : &told);
    }
}

static void complete_all(struct layer *layer, struct thread *thread, struct receive *held,
                         const QMPIX_Call *call, const struct completion *completion)
{
    const bool failed = !argument_result_is_success(call);
    for (; held; held = held->next_held) {
        const struct told told = {call, completion->statuses, held->place};
        const int error = failed ? error_of(call, completion, held->place) : MPI_SUCCESS;
        if (error == MPI_SUCCESS)
            arrive(layer, thread, held, &told);
        else if (error != MPI_ERR_PENDING)
            arrive(layer, thread, held, NULL);
    }
}

static void complete_one(struct layer *layer, struct thread *thread, struct receive *held,
                         const QMPIX_Call *call, const struct completion *completion)
{
    const struct told told = {call, completion->status, 0};
    const int index = completion->index < 0 ? 0 : argument_int_at(call, completion->index);
    while (held && held->place != index)
        held = held->next_held;
    if (held)
        arrive(layer, thread, held, &told);
}

/* The operation's own error came back, and its request is gone. */
static void fail(struct layer *layer, struct thread *thread, struct receive *held,
                 const QMPIX_Call *call, const struct completion *completion)
{
    for (; held; held = held->next_held) {
        if (argument_request_at(call, completion->requests, held->place) == MPI_REQUEST_NULL)
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
    const bool succeeded = argument_result_is_success(call);
    if (!succeeded && !completions_in_status(call, completion))
        fail(layer, thread, held, call, completion);
    else if (succeeded && completion->flag >= 0 && !argument_int_at(call, completion->flag))
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
