/* SPDX-License-Identifier: MIT */
/* See receives.h: the places of receives, by their requests' handles. */
#include "record/receives.h"

#include "layer.h"
#include "record/receives_parts.h"
#include "toolkit/toolkit.h"
#include <string.h>

bool receives_make(struct receives *receives)
{
    receives->epoch = 0;
    return pending_make(&receives->table, sizeof(struct receive));
}

/* Not MPI_Isendrecv: of what it received MPI libraries leave the status as it was. */
enum receives_role receives_role(const QMPIX_Function *function)
{
    static const struct {
        const char *name;
        enum receives_role role;
    } roles[] = {
        {"MPI_Irecv", RECEIVES_POSTS},        {"MPI_Imrecv", RECEIVES_POSTS},
        {"MPI_Recv_init", RECEIVES_MAKES},    {"MPI_Precv_init", RECEIVES_MAKES},
        {"MPI_Start", RECEIVES_STARTS},       {"MPI_Startall", RECEIVES_STARTS},
        {"MPI_Wait", RECEIVES_COMPLETES},     {"MPI_Waitany", RECEIVES_COMPLETES},
        {"MPI_Waitall", RECEIVES_COMPLETES},  {"MPI_Waitsome", RECEIVES_COMPLETES},
        {"MPI_Test", RECEIVES_COMPLETES},     {"MPI_Testany", RECEIVES_COMPLETES},
        {"MPI_Testall", RECEIVES_COMPLETES},  {"MPI_Testsome", RECEIVES_COMPLETES},
        {"MPI_Request_free", RECEIVES_FREES},
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const size_t length = strlen(roles[i].name);
        if (!strncmp(function->name, roles[i].name, length) &&
            (!function->name[length] || !strcmp(function->name + length, "_c")))
            return roles[i].role;
    }
    return RECEIVES_NOTHING;
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* The receive of a request that no call holds; NULL: none. */
static struct receive *find(const struct receives *receives, uint64_t handle)
{
    return (struct receive *)pending_find(&receives->table, handle, NULL);
}

/* A request of this handle that completed without our seeing it leaves its place to this one. */
struct receive *receives_take(const struct receives *receives, uint64_t handle)
{
    struct receive *receive = find(receives, handle);
    if (!receive || !pending_claim(&receive->pending, handle))
        return (struct receive *)pending_take(&receives->table, handle);
    receives_complete_now(receive);
    return receive;
}

void receives_publish(struct receive *receive, uint64_t handle)
{
    pending_publish(&receive->pending, handle);
}

void receives_complete_now(struct receive *receive)
{
    receive->active = false;
    if (receive->tally && receive->persistent)
        __atomic_fetch_sub(&receive->tally->users, 1, __ATOMIC_ACQ_REL);
    else if (receive->tally)
        __atomic_store_n(&receive->tally->users, 0, __ATOMIC_RELEASE);
    receive->tally = NULL;
}

void receives_drop(struct receive *receive)
{
    receives_complete_now(receive);
    pending_drop(&receive->pending);
}

/* The receive that is behind a request and belongs to the present time of the layer. */
struct receive *receives_find(const struct receives *receives, uint64_t handle)
{
    struct receive *receive = find(receives, handle);
    if (!receive || receive->epoch == __atomic_load_n(&receives->epoch, __ATOMIC_ACQUIRE))
        return receive;
    receives_complete_now(receive);
    if (receive->persistent)
        return receive;
    receives_drop(receive);
    return NULL;
}

/* ---- Requests that come and go --------------------------------------------------------------- */

/* The tally of a receive may still serve others that were started with it before. Where it serves
 * nobody only who has the receive gives it users. */
static struct tally *begin_tally(struct receive *receive, uint64_t bytes)
{
    if (__atomic_load_n(&receive->first_tally.users, __ATOMIC_ACQUIRE))
        return NULL;
    __atomic_store_n(&receive->first_tally.users, 1, __ATOMIC_RELAXED);
    receive->first_tally.bytes = bytes;
    return &receive->first_tally;
}

static void post(struct layer *layer, struct thread *thread, struct receive *receive,
                 const struct receives_post *post_call)
{
    receives_complete_now(receive);
    receive->thread = thread;
    receive->post_call = *post_call;
    receive->changes = handles_changes(&layer->comms.handles);
    receive->epoch = __atomic_load_n(&layer->receives.epoch, __ATOMIC_ACQUIRE);
    receive->active = true;
}

void receives_start(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                    const struct receives_post *post_call)
{
    const bool many = call->function->parameter_count == 2;
    const int count = many ? argument_int(call, 0) : 1;
    struct tally *tally = NULL;
    for (int i = 0; i < count; i++) {
        struct receive *receive =
            receives_find(&layer->receives, argument_element_word(call, many, i));
        if (!receive || !receive->persistent)
            continue;
        if (receive->is_send) {
            receive->active = true;
            continue;
        }
        post(layer, thread, receive, post_call);
        if (tally)
            __atomic_fetch_add(&tally->users, 1, __ATOMIC_ACQ_REL);
        else
            tally = begin_tally(receive, post_call->sent);
        receive->tally = tally;
        note_add(&thread->posted, 1);
    }
}

/* Of the last argument. */
static uint64_t request_of(const QMPIX_Call *call)
{
    return argument_element_word(call, call->function->parameter_count - 1, 0);
}

void receives_post(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                   const struct receives_post *post_call)
{
    const uint64_t handle = request_of(call);
    struct receive *receive = receives_take(&layer->receives, handle);
    note_add(&thread->posted, 1);
    if (!receive)
        return; /* out of memory: it counts as not seen to complete */
    post(layer, thread, receive, post_call);
    receive->persistent = receive->is_whole = receive->is_send = false;
    receive->tally = begin_tally(receive, post_call->sent);
    receives_publish(receive, handle);
}

/* Of a partitioned receive: the status need not know it. */
static uint64_t whole_size(const QMPIX_Call *call)
{
    enum { PARTITIONS = 1, COUNT = 2, TYPE = 3 };
    MPI_Count size = 0;
    const int partitions = argument_int(call, PARTITIONS);
    PMPI_Type_size_x(argument_type(call, TYPE), &size);
    return (uint64_t)(partitions * argument_count(call, COUNT) * size);
}

void receives_add(struct layer *layer, const QMPIX_Call *call)
{
    const uint64_t handle = request_of(call);
    struct receive *receive = receives_take(&layer->receives, handle);
    if (!receive)
        return;
    receive->persistent = true;
    receive->active = receive->is_send = false;
    receive->is_whole = !strncmp(call->function->name, "MPI_P", 5);
    receive->size = receive->is_whole ? whole_size(call) : 0;
    receives_publish(receive, handle);
}

void receives_forget(struct layer *layer, const QMPIX_Call *call)
{
    const bool is_given = argument_address(call, call->function->parameter_count - 1) != NULL;
    struct receive *receive = is_given ? receives_find(&layer->receives, request_of(call)) : NULL;
    if (receive)
        receives_drop(receive);
}

void receives_lose(struct layer *layer)
{
    __atomic_fetch_add(&layer->receives.epoch, 1, __ATOMIC_ACQ_REL);
}

uint64_t receives_unfinished(int tool_id)
{
    uint64_t posted = 0, arrived = 0;
    for (const struct thread *thread = threads_first(tool_id); thread; thread = thread->next) {
        arrived += __atomic_load_n(&thread->arrived, __ATOMIC_ACQUIRE);
        posted += __atomic_load_n(&thread->posted, __ATOMIC_ACQUIRE);
    }
    return posted > arrived ? posted - arrived : 0;
}
