/* SPDX-License-Identifier: MIT */
/* See note.h. */
#include "record/note.h"

#include "record/callsites.h"
#include "record/comms.h"
#include "record/files.h"
#include "record/freed_handles.h"
#include "record/peer_waits.h"
#include "record/receives.h"
#include "record/sends.h"

/* ---- What a call carried --------------------------------------------------------------------- */

struct amount {
    struct thread *thread;
    bool reads_peer;
    bool posts;    /* what it receives comes later, */
    bool awaits;   /* and something will */
    uint64_t room; /* for that */
    uint64_t sent, received;
    uint64_t messages; /* that carry something; 0 also: one or none, as the bytes tell */
};

static void note_cell(struct thread *thread, int world, bool sending, uint64_t bytes)
{
    const uint64_t key = (uint64_t)world << 1 | sending;
    struct matrix_row *cell = world < 0 ? NULL : table_get(&thread->matrix, &key, 1);
    if (cell) {
        note_add(&cell->messages, 1);
        note_add(&cell->bytes, bytes);
    }
}

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
    amount->messages += bytes > 0;
    if (transfer->sending || amount->reads_peer)
        note_cell(amount->thread, transfer->world, transfer->sending, bytes);
}

/* Of MPI_Startall some operations are messages and some collectives: each knows its own. Of a
 * receive that is only posted nothing counts but whether a message will come. */
static void find_amount(const QMPIX_Call *call, const struct traits *traits, struct amount *amount)
{
    if (traits->source >= 0)
        amount->awaits = argument_int(call, traits->source) != MPI_PROC_NULL;
    else if (traits->has_transfers)
        QMPIX_Call_for_each_transfer(call, note_transfer, amount);
    if (traits->has_bytes) {
        MPI_Count sent = 0, received = 0;
        QMPIX_Call_get_bytes(call, &sent, &received);
        amount->sent = (uint64_t)sent;
        amount->received = (uint64_t)received - amount->room;
    }
}

/* ---- Where it is noted ----------------------------------------------------------------------- */

static struct numbered_row *find_number(struct table *table, int number)
{
    const uint64_t key = (uint64_t)number;
    return number < 0 ? NULL : table_get(table, &key, 1);
}

/* The communicator is looked at when it is first seen; a failed call may have been given any. Not
 * by a call that interrupts us: that may have struck us with the lock. */
static struct numbered_row *find_comm(struct layer *layer, struct thread *thread,
                                      const QMPIX_Call *call, MPI_Comm comm)
{
    const struct traits *traits = &traits_all[call->function->number];
    int number = comms_find(&layer->comms, comm);
    if (number < 0 && note_has_succeeded(call, traits) && !thread_level_interrupts())
        number = comms_meet(layer, comm);
    return find_number(&thread->comms, number);
}

/* In this order: what is left half done by a jump is looked up again. */
__attribute__((noinline)) static struct numbered_row *
find_other_comm(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                struct site *site, int argument)
{
    const uint64_t changes = handles_changes(&layer->comms.handles);
    struct numbered_row *row = find_comm(layer, thread, call, argument_comm(call, argument));
    if (row) {
        __atomic_store_n(&site->changes, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&site->comm, argument_word(call, argument), __ATOMIC_RELEASE);
        __atomic_store_n(&site->row, row, __ATOMIC_RELEASE);
        __atomic_store_n(&site->cell, NULL, __ATOMIC_RELEASE);
        __atomic_store_n(&site->changes, changes, __ATOMIC_RELEASE);
    }
    return row;
}

/* Of a function that is given a communicator. */
static inline struct numbered_row *comm_of(struct layer *layer, struct thread *thread,
                                           const QMPIX_Call *call, struct site *site, int argument)
{
    return __builtin_expect(note_is_comm_of(layer, site, argument_word(call, argument)), 1)
               ? site->row
               : find_other_comm(layer, thread, call, site, argument);
}

/* Of MPI_Start, whose communicator is the operation's. */
__attribute__((noinline)) static struct numbered_row *started_comm(struct layer *layer,
                                                                   struct thread *thread,
                                                                   const QMPIX_Call *call,
                                                                   const struct traits *traits)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (!note_has_succeeded(call, traits) || QMPIX_Call_get_comm(call, &comm) != MPI_SUCCESS)
        return NULL;
    return find_comm(layer, thread, call, comm);
}

/* What a call has cost and carried, and the first of the places where that is noted. */
struct noted {
    uint64_t time, wait, sent, received;
    struct site *site;
    struct numbered_row *comm; /* NULL: it has none, or memory was out */
};

static inline void note_rest(struct stats *stats, const struct noted *noted)
{
    if (noted->wait)
        note_add(&stats->wait, noted->wait);
    if (noted->sent)
        note_add(&stats->sent, noted->sent);
    if (noted->received)
        note_add(&stats->received, noted->received);
}

static void note_place(struct stats *stats, const struct noted *noted)
{
    if (stats) {
        note_call(stats, noted->time);
        note_rest(stats, noted);
    }
}

__attribute__((noinline)) static void note_places(struct layer *layer, struct thread *thread,
                                                  const QMPIX_Call *call, const QMPIX_Word *word,
                                                  struct noted noted)
{
    const struct traits *traits = &traits_all[call->function->number];
    if (traits->file >= 0) {
        const MPI_File file = argument_file(call, traits->file);
        struct numbered_row *row = find_number(&thread->files, files_find(&layer->files, file));
        note_place(row ? &row->stats : NULL, &noted);
    }
    if (traits->is_controlled)
        note_place(freed_handles_stats(thread, word), &noted);
}

/* ---- The call as a whole --------------------------------------------------------------------- */

static uint64_t comm_handle(const QMPIX_Call *call, const struct traits *traits)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (traits->comm >= 0)
        comm = argument_comm(call, traits->comm);
    else if (traits->receives == RECEIVES_STARTS)
        QMPIX_Call_get_comm(call, &comm);
    return HANDLE_WORD(comm);
}

static void post(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                 const struct noted *noted)
{
    const struct traits *traits = &traits_all[call->function->number];
    const struct receives_post post_call = {.site = noted->site,
                                            .comm = noted->comm,
                                            .comm_handle = comm_handle(call, traits),
                                            .sent = noted->sent};
    if (traits->receives == RECEIVES_STARTS)
        receives_start(layer, thread, call, &post_call);
    else
        receives_post(layer, thread, call, &post_call);
}

/* The call was described when it began: the node may be another one by now. */
static struct site *site_of_call(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                                 const struct flight *flight)
{
    const int depth = layer->options.depth;
    const bool is_inner = !flight || flight != &thread->flights.first;
    const uint64_t key = note_key(layer, call, is_inner);
    struct site *site = flight ? flight->data : NULL;
    if (!site)
        return sites_find(thread, key, call, depth);
    return __builtin_expect(site_key(site, (size_t)depth)[0] == key, 1)
               ? site
               : sites_find_other(thread, key, site, depth);
}

/* A call that asks whether something has come. If it follows one from the same place at once, the
 * time between them is lost, too. */
static void note_polling(struct thread *thread, const QMPIX_Call *call, struct site *site)
{
    uint64_t begin = 0, end = 0;
    QMPIX_Call_get_time(call, &begin, &end);
    const uint64_t time = end > begin ? end - begin : 0, pause = begin - thread->polled_tick;
    const uint64_t at_once = time + peer_waits_floor / 10;
    note_add(&site->stats.polling, thread->polled == site && pause < at_once ? time + pause : time);
    thread->polled = site;
    thread->polled_tick = end;
}

/* The time in MPI, of which waiting before the call is a part. */
static void note_windows(const struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                         const struct noted *noted)
{
    uint64_t begin = 0, end = 0;
    const uint64_t key = site_key(noted->site, (size_t)layer->options.depth)[0];
    if (key & CALL_APART || QMPIX_Call_get_time(call, &begin, &end) != MPI_SUCCESS)
        return;
    if (layer->options.path && QMPIX_Call_get_entry_time(call, &begin) == MPI_SUCCESS)
        end = begin + noted->time + noted->wait; /* clocks were sent before and after it */
    windows_note(&thread->windows, &layer->regions.scale, noted->time + noted->wait, end);
}

static void note_amount(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
                        const QMPIX_Word *word, const struct flight *flight, uint64_t time,
                        const struct amount *amount)
{
    const struct traits *traits = &traits_all[call->function->number];
    const uint64_t bytes = amount->sent + amount->received;
    struct noted noted = {.time = time,
                          .wait = flight ? flight->number : 0,
                          .sent = amount->sent,
                          .received = amount->received,
                          .site = site_of_call(layer, thread, call, flight)};
    if (__builtin_expect(!noted.site, 0)) {
        threads_out_of_memory(layer->tool_id);
        return;
    }
    noted.comm = traits->comm >= 0 ? comm_of(layer, thread, call, noted.site, traits->comm)
                 : traits->receives == RECEIVES_STARTS ? started_comm(layer, thread, call, traits)
                                                       : NULL;
    note_site(noted.site, noted.time);
    note_rest(&noted.site->stats, &noted);
    note_windows(layer, thread, call, &noted);
    const uint64_t messages =
        amount->messages ? amount->messages : amount->awaits || (bytes && traits->has_transfers);
    if (messages != traits_messages(traits))
        note_add(&noted.site->more_messages, messages - traits_messages(traits));
    if (bytes)
        note_add(&noted.site->function->sizes[note_bin(bytes, PROFILE_SIZE_BINS)], 1);
    if (noted.comm)
        note_place(&noted.comm->stats, &noted);
    if (__builtin_expect(traits->is_controlled || traits->file >= 0, 0))
        note_places(layer, thread, call, word, noted);
    if (amount->awaits)
        post(layer, thread, call, &noted);
    if (traits->polls)
        note_polling(thread, call, noted.site);
    else if (time > peer_waits_floor &&
             !(site_key(noted.site, (size_t)layer->options.depth)[0] & CALL_APART))
        peer_waits_note(thread, call, noted.site, time, bytes);
}

void note(struct layer *layer, struct thread *thread, const QMPIX_Call *call,
          const QMPIX_Word *word, const struct flight *flight, uint64_t time)
{
    const struct traits *traits = &traits_all[call->function->number];
    const bool starts = traits->receives == RECEIVES_STARTS;
    const bool posts = starts || traits->receives == RECEIVES_POSTS;
    struct amount amount = {.thread = thread, .reads_peer = traits->reads_peer, .posts = posts};
    if (traits_carry(traits) && note_has_succeeded(call, traits)) {
        find_amount(call, traits, &amount);
        amount.awaits = posts && (starts || amount.awaits);
    }
    note_amount(layer, thread, call, word, flight, time, &amount);
    if (sends_may_wait(traits, amount.sent) && note_has_succeeded(call, traits))
        sends_post(layer, call, amount.sent);
}
