/* SPDX-License-Identifier: MIT */
/*
 * See observe.h. All that is noted of a call is noted when it has returned: then what it was given
 * is known to be right, statuses are there, and `word` need hold nothing but the time of its begin.
 */
#include "observe.h"

#include "facts.h"
#include "flights.h"
#include "sites.h"
#include "steer.h"
#include "toolkit/clock.h"

/* ---- What a call carried ------------------------------------------------------------------------
 */

struct amount {
    struct thread *thread;
    bool reads_peer;
    bool posts;    /* what it receives comes later, */
    bool awaits;   /* and something will */
    uint64_t room; /* for that */
    uint64_t sent, received;
};

static void note_transfer(void *data, const QMPIX_Transfer *transfer)
{
    struct amount *amount = data;
    const uint64_t bytes = (uint64_t)transfer->bytes;
    if (transfer->sending)
        amount->sent += bytes;
    else if (amount->posts)
        amount->room += bytes;
    else
        amount->received += bytes;
    amount->awaits |= !transfer->sending && transfer->peer != MPI_PROC_NULL;
    if (transfer->world < 0 || !(transfer->sending || amount->reads_peer))
        return;
    const uint64_t key = (uint64_t)transfer->world << 1 | (transfer->sending != 0);
    struct cell_row *cell = table_get(&amount->thread->cells, &key, 1);
    if (cell) {
        note_add(&cell->messages, 1);
        note_add(&cell->bytes, bytes);
    }
}

/* Of MPI_Startall some operations are messages and some collectives: each knows its own. */
static void find_amount(const QMPIX_Call *call, const struct facts *facts, struct amount *amount)
{
    if (facts->has_transfers)
        QMPIX_Call_for_each_transfer(call, note_transfer, amount);
    if (facts->has_bytes) {
        MPI_Count sent = 0, received = 0;
        QMPIX_Call_get_bytes(call, &sent, &received);
        amount->sent = (uint64_t)sent;
        amount->received = (uint64_t)received - amount->room;
    }
}

static void note_stats(struct stats *stats, uint64_t time, uint64_t wait,
                       const struct amount *amount)
{
    if (!stats)
        return;
    note_call(stats, time);
    if (wait)
        note_add(&stats->wait, wait);
    if (amount->sent)
        note_add(&stats->sent, amount->sent);
    if (amount->received)
        note_add(&stats->received, amount->received);
}

/* ---- Where it is noted --------------------------------------------------------------------------
 */

static struct function_row *find_function(struct thread *thread, int number, uint64_t node)
{
    const uint64_t key = node << 32 | (uint64_t)number;
    struct function_row *row = thread->recent[number];
    if (!row || row->key != key)
        row = thread->recent[number] = table_get(&thread->functions, &key, 1);
    return row;
}

static struct function_row *note_function(struct thread *thread, int number, uint64_t node,
                                          uint64_t time, uint64_t wait, const struct amount *amount)
{
    struct function_row *row = find_function(thread, number, node);
    if (!row)
        return NULL;
    const uint64_t bytes = amount->sent + amount->received;
    note_stats(&row->stats, time, wait, amount);
    note_add(bytes ? &row->sizes[note_bin(bytes, PROFILE_SIZE_BINS)] : &row->no_bytes, 1);
    note_add(&row->times[note_bin(tool_clock_nanoseconds(time), PROFILE_TIME_BINS)], 1);
    return row;
}

static struct stats *find_number(struct table *table, int number)
{
    const uint64_t key = (uint64_t)number;
    struct numbered_row *row = number < 0 ? NULL : table_get(table, &key, 1);
    return row ? &row->stats : NULL;
}

/* The communicator is looked at when it is first seen; a failed call may have been given any. Not
 * by a call that interrupts us: that may have struck us with the lock. */
static int comm_of(struct layer *layer, const QMPIX_Call *call, const struct facts *facts,
                   bool succeeded, uint64_t *handle)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (facts->comm >= 0)
        comm = *(const MPI_Comm *)call->arguments[facts->comm];
    else if (!facts->starts || !succeeded || QMPIX_Call_get_comm(call, &comm) != MPI_SUCCESS)
        return -1;
    *handle = HANDLE_WORD(comm);
    const int number = comms_find(&layer->comms, comm);
    const bool meets = number < 0 && succeeded && !own_thread_interrupts();
    return meets ? comms_meet(layer, comm) : number;
}

/* A call from within a call is in the other one's time already. */
static void note_share(struct layer *layer, struct thread *thread, uint64_t node, uint64_t time)
{
    struct node_row *row = thread->recent_node;
    if (!atomic_load_explicit(&layer->regions.begun, memory_order_relaxed))
        return;
    if (!row || row->key != node)
        row = thread->recent_node = table_get(&thread->nodes, &node, 1);
    if (row)
        note_add(&row->mpi, time);
}

/* `flight`: what was noted of the call when it began; NULL: nothing, memory was out. */
static void note(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                 const QMPIX_Word *word, const struct flight *flight, uint64_t now)
{
    const int number = (int)call->function->number;
    const struct facts *facts = &facts_all[number];
    const bool succeeded =
        !facts->has_error || !call->result || *(const int *)call->result == MPI_SUCCESS;
    const uint64_t time = now > word->number ? now - word->number : 0;
    const uint64_t wait = flight ? flight->wait : 0;
    const uint64_t node =
        (uint64_t)atomic_load_explicit(&layer->regions.node, memory_order_relaxed);
    const bool starts = facts->receives == RECEIVES_STARTS;
    struct amount amount = {.thread = thread,
                            .reads_peer = facts->reads_peer,
                            .posts = starts || facts->receives == RECEIVES_POSTS};
    struct receives_origin origin = {.comm_number = -1};
    if (succeeded && (facts->has_transfers || facts->has_bytes))
        find_amount(call, facts, &amount);
    origin.function = note_function(thread, number, node, time, wait, &amount);
    origin.site = flight ? flight->site : sites_find(thread, call, layer->options.depth);
    note_stats(origin.site, time, wait, &amount);
    if (facts->comm >= 0 || facts->starts) {
        origin.comm_number = comm_of(layer, call, facts, succeeded, &origin.comm);
        note_stats(find_number(&thread->comms, origin.comm_number), time, wait, &amount);
    }
    if (facts->file >= 0)
        note_stats(
            find_number(&thread->files,
                        files_find(&layer->files, *(const MPI_File *)call->arguments[facts->file])),
            time, wait, &amount);
    if (facts->is_steered)
        note_stats(steer_stats(thread, word), time, wait, &amount);
    if (succeeded && amount.posts && (starts || amount.awaits)) {
        origin.sent = amount.sent;
        receives_post(layer, thread, call, &origin);
    }
    if (flight && !flight->outer)
        note_share(layer, thread, node, time + wait);
}

/* ---- Callbacks ----------------------------------------------------------------------------------
 */

/* Also while profiling is off: whether a rank waits must not hang on what another one switched. */
static uint64_t wait_for_others(const QMPIX_Call *call, struct flight *flight, bool counted,
                                int argument)
{
    const MPI_Comm comm = *(const MPI_Comm *)call->arguments[argument];
    if (comm == MPI_COMM_NULL)
        return 0;
    const uint64_t begin = tool_clock_now();
    if (flight && counted)
        flights_show(flight, FLIGHT_WAITS, begin);
    PMPI_Barrier(comm);
    return tool_clock_now() - begin;
}

static bool is_counted(const struct layer *layer, const struct facts *facts)
{
    if (!atomic_load_explicit(&layer->regions.on, memory_order_relaxed))
        return false;
    return !facts_keep(facts, layer->options.sync) || profile_is_on(layer);
}

/* What is told of the call while it is under way. */
static void describe(struct layer *layer, struct thread *thread, struct flight *flight,
                     const QMPIX_Call *call)
{
    const struct facts *facts = &facts_all[call->function->number];
    uint64_t comm = 0, file = 0;
    if (facts->comm >= 0)
        comm = HANDLE_WORD(*(const MPI_Comm *)call->arguments[facts->comm]);
    if (facts->file >= 0)
        file = HANDLE_WORD(*(const MPI_File *)call->arguments[facts->file]);
    flights_describe(flight, (uint64_t)call->function->number, comm, file,
                     sites_find(thread, call, layer->options.depth));
}

static void begin(struct layer *layer, const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct facts *facts = &facts_all[call->function->number];
    if (facts->is_steered && steer_before(layer, call, word))
        return;
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    const bool counted = thread && is_counted(layer, facts);
    const bool completes = facts->receives == RECEIVES_COMPLETES;
    struct flight *flight = thread && (counted || completes) ? flights_begin(thread, word) : NULL;
    if (flight && counted)
        describe(layer, thread, flight, call);
    if (flight && completes)
        receives_hold(layer, flight, call);
    if (__builtin_expect(facts->receives == RECEIVES_FREES, 0))
        receives_forget(layer, call);
    if (__builtin_expect(layer->options.sync && facts->waits, 0)) {
        const uint64_t wait = wait_for_others(call, flight, counted, facts->comm);
        if (flight)
            flights_wait(flight, wait);
    }
    if (!counted)
        return;
    word->number = tool_clock_now();
    if (flight)
        flights_show(flight, FLIGHT_RUNS, word->number);
}

static void end(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word, uint64_t now)
{
    const struct facts *facts = &facts_all[call->function->number];
    const bool counted = word->number != 0, completes = facts->receives == RECEIVES_COMPLETES;
    if (!counted && !completes && facts->receives != RECEIVES_MAKES)
        return;
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    if (!thread)
        return;
    struct flight *flight = flights_end(thread, word);
    if (flight && completes)
        receives_complete(layer, thread, flight, call);
    if (counted)
        note(layer, thread, call, word, flight, now);
    if (facts->receives == RECEIVES_MAKES && *(const int *)call->result == MPI_SUCCESS)
        receives_add(layer, call);
}

void observe_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct own_thread *level = own_thread_enter();
    begin(call->observer->data, call, word);
    own_thread_leave(level);
}

void observe_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    const uint64_t now = tool_clock_now();
    struct own_thread *level = own_thread_enter();
    struct layer *layer = call->observer->data;
    end(layer, call, word, now);
    if (facts_all[call->function->number].is_steered)
        steer_after(layer, call, word, word->number != 0);
    own_thread_leave(level);
}

void observe_show(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    struct flight *flight = thread && is_counted(layer, &facts_all[call->function->number])
                                ? flights_begin(thread, word)
                                : NULL;
    if (flight) {
        describe(layer, thread, flight, call);
        flights_show(flight, FLIGHT_NOTED, tool_clock_now());
    }
}

void observe_hide(struct layer *layer, const QMPIX_Word *word)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    if (thread)
        flights_end(thread, word);
}

void observe_at_once(struct layer *layer, const QMPIX_Call *call)
{
    const uint64_t now = tool_clock_now();
    const QMPIX_Word word = {.number = now};
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    if (thread && is_counted(layer, &facts_all[call->function->number]))
        note(layer, thread, call, &word, NULL, now);
}
