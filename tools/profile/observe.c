/* SPDX-License-Identifier: MIT */
/*
 * See observe.h. All that is noted of a call is noted when it has returned: then what it was given
 * is known to be right, statuses are there, and `word` need hold nothing but the time of its begin.
 */
#include "observe.h"

#include "clock.h"
#include "facts.h"
#include "safe_copy.h"
#include "sites.h"
#include "steer.h"

/* ---- What a call carried ------------------------------------------------------------------------
 */

struct amount {
    struct thread *thread;
    bool reads_peer;
    uint64_t sent, received;
};

static void note_transfer(void *data, const QMPIX_Transfer *transfer)
{
    struct amount *amount = data;
    const uint64_t bytes = (uint64_t)transfer->bytes;
    if (transfer->sending)
        amount->sent += bytes;
    else
        amount->received += bytes;
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
        amount->received = (uint64_t)received;
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

static int place(uint64_t number, int bins)
{
    const int bin = number ? 63 - __builtin_clzll(number) : 0;
    return bin < bins ? bin : bins - 1;
}

static void note_function(struct thread *thread, int number, uint64_t node, uint64_t time,
                          uint64_t wait, const struct amount *amount)
{
    struct function_row *row = find_function(thread, number, node);
    if (!row)
        return;
    const uint64_t bytes = amount->sent + amount->received;
    note_stats(&row->stats, time, wait, amount);
    note_add(bytes ? &row->sizes[place(bytes, PROFILE_SIZE_BINS)] : &row->no_bytes, 1);
    note_add(&row->times[place(tool_clock_nanoseconds(time), PROFILE_TIME_BINS)], 1);
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
                   bool succeeded)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (facts->comm >= 0)
        comm = *(const MPI_Comm *)call->arguments[facts->comm];
    else if (!facts->starts || !succeeded || QMPIX_Call_get_comm(call, &comm) != MPI_SUCCESS)
        return -1;
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

static void note(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word, uint64_t now)
{
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    if (!thread)
        return;
    const int number = (int)call->function->number;
    const struct facts *facts = &facts_all[number];
    const bool succeeded =
        !facts->has_error || !call->result || *(const int *)call->result == MPI_SUCCESS;
    const uint64_t time = now > word->number ? now - word->number : 0;
    const uint64_t node =
        (uint64_t)atomic_load_explicit(&layer->regions.node, memory_order_relaxed);
    struct amount amount = {.thread = thread, .reads_peer = facts->reads_peer};
    uint64_t wait = 0;
    if (thread->waited == word) {
        wait = thread->wait;
        thread->waited = NULL;
    }
    if (succeeded && (facts->has_transfers || facts->has_bytes))
        find_amount(call, facts, &amount);
    note_function(thread, number, node, time, wait, &amount);
    note_stats(sites_find(thread, call, layer->options.depth), time, wait, &amount);
    if (facts->comm >= 0 || facts->starts)
        note_stats(find_number(&thread->comms, comm_of(layer, call, facts, succeeded)), time, wait,
                   &amount);
    if (facts->file >= 0)
        note_stats(
            find_number(&thread->files,
                        files_find(&layer->files, *(const MPI_File *)call->arguments[facts->file])),
            time, wait, &amount);
    if (facts->is_steered)
        note_stats(steer_stats(thread, word), time, wait, &amount);
    if (thread->outermost == word) {
        thread->outermost = NULL;
        note_share(layer, thread, node, time + wait);
    }
}

/* ---- Callbacks ----------------------------------------------------------------------------------
 */

/* Also while profiling is off: whether a rank waits must not hang on what another one switched. */
static void wait_for_others(struct thread *thread, const QMPIX_Call *call, const QMPIX_Word *word,
                            int argument)
{
    const MPI_Comm comm = *(const MPI_Comm *)call->arguments[argument];
    if (comm == MPI_COMM_NULL)
        return;
    const uint64_t begin = tool_clock_now();
    PMPI_Barrier(comm);
    if (thread) {
        thread->wait = tool_clock_now() - begin;
        thread->waited = word;
    }
}

/*
 * Whether the outermost call is not under way any more: it was left by a jump, out of an error
 * handler for one. The stack grows downwards: then its word is below this one, or was written over;
 * that of a call under way is as it was. It may also be on another stack, which may be gone.
 */
static bool was_left(const struct thread *thread, const QMPIX_Word *word)
{
    const QMPIX_Word *outermost = thread->outermost;
    uint64_t number;
    return (uintptr_t)outermost <= (uintptr_t)word ||
           !tool_safe_copy(&number, &outermost->number, sizeof number) ||
           number != thread->outermost_begin;
}

static bool is_counted(const struct layer *layer, const struct facts *facts)
{
    if (!atomic_load_explicit(&layer->regions.on, memory_order_relaxed))
        return false;
    return !facts_keep(facts, layer->options.sync) || profile_is_on(layer);
}

static void begin(struct layer *layer, const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct facts *facts = &facts_all[call->function->number];
    if (facts->is_steered && steer_before(layer, call, word))
        return;
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    if (thread && thread->waited == word)
        thread->waited = NULL; /* of a call that was left by a jump */
    if (__builtin_expect(layer->options.sync && facts->waits, 0))
        wait_for_others(thread, call, word, facts->comm);
    if (!thread)
        return;
    if (!is_counted(layer, facts)) {
        thread->waited = NULL;
        return;
    }
    const bool is_outermost = __builtin_expect(!thread->outermost, 1) || was_left(thread, word);
    word->number = tool_clock_now();
    if (is_outermost) {
        thread->outermost = word;
        thread->outermost_begin = word->number;
    }
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
    const bool counted = word->number != 0;
    if (counted)
        note(layer, call, word, now);
    if (facts_all[call->function->number].is_steered)
        steer_after(layer, call, word, counted);
    own_thread_leave(level);
}

void observe_at_once(struct layer *layer, const QMPIX_Call *call)
{
    const uint64_t now = tool_clock_now();
    const QMPIX_Word word = {.number = now};
    if (is_counted(layer, &facts_all[call->function->number]))
        note(layer, call, &word, now);
}
