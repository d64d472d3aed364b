/* SPDX-License-Identifier: MIT */
/* See call.h. */
#define _GNU_SOURCE
#include "tools/profile/record/call.h"

#include "toolkit/toolkit.h"
#include "tools/profile/record/objects.h"
#include "tools/profile/record/outside.h"
#include "tools/profile/record/receives.h"
#include "tools/profile/record/threads.h"
#include "tools/profile/record/waits.h"

#include <string.h>
#include <sys/resource.h>

/* The maximum pauses of a loop that polls and sleeps, as multiples of waits_floor, which is 10 us.
 * The first pause may last up to 1 ms. The following ones may last up to 10 ms, because a busy
 * machine wakes the thread late. */
enum { FIRST_PAUSE_MOST = 100, PAUSE_MOST = 1000 };

static bool has_call_succeeded(const QMPIX_Call *call, const struct traits *traits)
{
    return !traits->has_error || !call->result || argument_result_is_success(call);
}

/* ---- Transferred data ------------------------------------------------------------------------ */

struct amount {
    struct thread_profile *thread;
    bool reads_peer; /* The matrix also contains what the call reads from its peer. */
    bool posts;      /* The call posts receives, whose data comes later. */
    bool is_untold;  /* The size of the receives stays unknown (MPI_Isendrecv). */
    bool awaits;     /* The call may have posted a receive of a message. */
    bool reads;      /* The call has begun to read a file; the bytes are known at its end. */
    uint64_t room;   /* the bytes for which posted receives have room */
    uint64_t sent, received;
    uint64_t messages; /* how many transfers with bytes were listed */
};

static void add_to_cell(struct thread_profile *thread, int world, bool sending, uint64_t bytes)
{
    const uint64_t key = (uint64_t)world << 1 | sending;
    struct thread_matrix_row *cell = world < 0 ? NULL : table_get(&thread->matrix, &key, 1);
    if (cell) {
        figure_add(&cell->messages, 1);
        figure_add(&cell->bytes, bytes);
    }
}

static void add_transfer(void *data, const QMPIX_Transfer *transfer)
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
    amount->messages += bytes > 0 && (transfer->sending || !amount->is_untold);
    if (transfer->sending || amount->reads_peer)
        add_to_cell(amount->thread, transfer->world, transfer->sending, bytes);
}

/* MPI_Startall may start both messages and collectives, so both ways of asking for bytes are used.
 * For a receive that is only posted, nothing matters except whether a message will come. */
static void find_amount(const QMPIX_Call *call, const struct traits *traits, struct amount *amount)
{
    if (traits->source >= 0)
        amount->awaits = argument_int(call, traits->source) != MPI_PROC_NULL;
    else if (traits->has_transfers)
        QMPIX_Call_for_each_transfer(call, add_transfer, amount);
    if (traits->has_bytes) {
        MPI_Count sent = 0, received = 0;
        QMPIX_Call_get_bytes(call, &sent, &received);
        amount->sent = (uint64_t)sent;
        amount->received = (uint64_t)received - amount->room;
    }
    if (traits->receives == RECEIVES_READS) {
        amount->reads = true;
        amount->received = 0;
    }
}

/* ---- Rows in which a call is counted --------------------------------------------------------- */

static struct thread_object_row *find_row(struct table *table, int number)
{
    const uint64_t key = (uint64_t)number;
    return number < 0 ? NULL : table_get(table, &key, 1);
}

static struct thread_object_row *find_file(struct layer *layer, struct thread_profile *thread,
                                           const QMPIX_Call *call, const struct traits *traits)
{
    const MPI_File file = argument_file(call, traits->file);
    return find_row(&thread->files, objects_find_file(&layer->files, file));
}

/* A communicator gets a number when it is first seen in a call that MPI has accepted. A failed
 * call, or one that returns no error code, may have been given any handle. A call that interrupts
 * work of the tool assigns no number, because the interrupted work may hold the lock. */
static struct thread_object_row *find_comm(struct layer *layer, struct thread_profile *thread,
                                           const QMPIX_Call *call, MPI_Comm comm)
{
    const struct traits *traits = &traits_all[call->function->number];
    int number = objects_find_comm(&layer->comms, comm);
    if (number < 0 && traits->has_error && call->result && argument_result_is_success(call) &&
        !thread_level_interrupts())
        number = objects_meet_comm(layer, comm);
    return find_row(&thread->comms, number);
}

/* Looks up the communicator of a call, and makes the site remember it. site->changes is cleared
 * first and set last: if the function is left with longjmp or an exception in between, the
 * communicator is looked up again. */
__attribute__((noinline)) static struct thread_object_row *
find_other_comm(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
                struct thread_site *site, int argument)
{
    const uint64_t changes = handles_changes(&layer->comms.handles);
    struct thread_object_row *row = find_comm(layer, thread, call, argument_comm(call, argument));
    if (row) {
        __atomic_store_n(&site->changes, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&site->comm, argument_word(call, argument), __ATOMIC_RELEASE);
        __atomic_store_n(&site->row, row, __ATOMIC_RELEASE);
        __atomic_store_n(&site->cell, NULL, __ATOMIC_RELEASE);
        __atomic_store_n(&site->changes, changes, __ATOMIC_RELEASE);
    }
    return row;
}

/* Returns the row of the communicator that is an argument of a call. */
static inline struct thread_object_row *find_call_comm(struct layer *layer,
                                                       struct thread_profile *thread,
                                                       const QMPIX_Call *call,
                                                       struct thread_site *site, int argument)
{
    return __builtin_expect(call_is_on_comm_of(layer, site, argument_word(call, argument)), 1)
               ? site->row
               : find_other_comm(layer, thread, call, site, argument);
}

/* Returns the row of a communicator that is not an argument. The communicator of MPI_Start belongs
 * to the persistent operation, and that of MPI_Mrecv to the matched message. */
__attribute__((noinline)) static struct thread_object_row *
find_known_comm(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
                const struct traits *traits)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (!has_call_succeeded(call, traits) || QMPIX_Call_get_comm(call, &comm) != MPI_SUCCESS)
        return NULL;
    return find_comm(layer, thread, call, comm);
}

/* The times and the bytes of a call, and the rows of its site and its communicator. */
struct call_figures {
    uint64_t time, wait, sent, received;
    struct thread_site *site;
    struct thread_object_row *comm; /* NULL: there is none, or memory was exhausted */
};

static inline void add_rest(struct thread_stats *stats, const struct call_figures *figures)
{
    if (figures->wait)
        figure_add(&stats->wait, figures->wait);
    if (figures->sent)
        figure_add(&stats->sent, figures->sent);
    if (figures->received)
        figure_add(&stats->received, figures->received);
}

static void add_to_place(struct thread_stats *stats, const struct call_figures *figures)
{
    if (stats) {
        thread_count_call(stats, figures->time);
        add_rest(stats, figures);
    }
}

/* Returns the figures of the communicator or file that a call frees. Its handle was forgotten when
 * the call began. Returns NULL if the call frees none. */
static struct thread_stats *find_freed_stats(struct thread_profile *thread, const QMPIX_Word *word)
{
    const struct handle_leaving *leaving = handles_find_leaving(&thread->leavings, word);
    if (!leaving)
        return NULL;
    const uint64_t key = (uint64_t)leaving->number;
    struct thread_object_row *row =
        table_get(leaving->kind ? &thread->files : &thread->comms, &key, 1);
    return row ? &row->stats : NULL;
}

__attribute__((noinline)) static void add_to_places(struct layer *layer,
                                                    struct thread_profile *thread,
                                                    const QMPIX_Call *call, const QMPIX_Word *word,
                                                    struct call_figures figures)
{
    const struct traits *traits = &traits_all[call->function->number];
    if (traits->file >= 0) {
        struct thread_object_row *row = find_file(layer, thread, call, traits);
        add_to_place(row ? &row->stats : NULL, &figures);
    }
    if (traits->is_controlled)
        add_to_place(find_freed_stats(thread, word), &figures);
}

/* ---- The call as a whole --------------------------------------------------------------------- */

static uint64_t comm_handle(const QMPIX_Call *call, const struct traits *traits)
{
    MPI_Comm comm = MPI_COMM_NULL;
    if (traits->comm >= 0)
        comm = argument_comm(call, traits->comm);
    else if (traits->has_known_comm)
        QMPIX_Call_get_comm(call, &comm);
    return HANDLE_WORD(comm);
}

static void post_receive(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
                         const struct call_figures *figures)
{
    const struct traits *traits = &traits_all[call->function->number];
    struct receives_post post_call = {.site = figures->site,
                                      .comm = figures->comm,
                                      .comm_handle = comm_handle(call, traits),
                                      .sent = figures->sent};
    if (traits->receives == RECEIVES_READS)
        post_call.file = find_file(layer, thread, call, traits);
    if (traits->receives == RECEIVES_STARTS)
        receives_start(layer, thread, call, &post_call);
    else
        receives_post(layer, thread, call, &post_call);
}

/* Returns the site in which a returning call is counted. This may differ from the site that was
 * found when the call began, because meanwhile regions may have been opened or closed, or
 * application time may have begun or ended. */
static struct thread_site *site_of_call(struct layer *layer, struct thread_profile *thread,
                                        const QMPIX_Call *call, const struct flight *flight)
{
    const int depth = layer->options.depth;
    const bool is_inner = !flight || flight != &thread->flights.first;
    const uint64_t key = call_make_key(layer, call, is_inner);
    struct thread_site *site = flight ? flight->data : NULL;
    if (!site)
        return thread_site_find(thread, key, call, depth);
    return __builtin_expect(thread_site_key(site, (size_t)depth)[0] == key, 1)
               ? site
               : thread_site_find_same(thread, key, site, depth);
}

/* Returns whether a thread slept in the pause before a polling call, rather than computed. If it
 * slept, it gave up the processor voluntarily, and worked for less than half of the time. Returns
 * false for the first pause, because the usage is measured only from the end of that pause on. */
static bool has_slept(struct thread_profile *thread, uint64_t pause, uint64_t time)
{
    struct rusage usage;
    const struct thread_polled_usage last = thread->polled_usage;
    thread->polled_usage.is_known = !getrusage(RUSAGE_THREAD, &usage);
    if (!thread->polled_usage.is_known)
        return false;
    thread->polled_usage.switches = usage.ru_nvcsw;
    thread->polled_usage.worked =
        (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) +
        usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    const int64_t worked = (thread->polled_usage.worked - last.worked) * 1000;
    return last.is_known && usage.ru_nvcsw > last.switches &&
           worked < (int64_t)ticks_nanoseconds(pause + time) / 2;
}

static bool found_nothing(const QMPIX_Call *call, const struct traits *traits)
{
    int flag = 1;
    const void *address = argument_address(call, traits->flag);
    if (address && has_call_succeeded(call, traits))
        memcpy(&flag, address, sizeof flag);
    return !flag;
}

/* Counts a polling call. If it follows another one from the same site at once, or if the thread has
 * done nothing but sleep briefly since the last one, the pause between them counts as polling, too.
 * Returns whether the pause counts. */
static bool add_polling(struct thread_profile *thread, const QMPIX_Call *call,
                        struct thread_site *site)
{
    const struct traits *traits = &traits_all[call->function->number];
    uint64_t begin = 0, end = 0;
    QMPIX_Call_get_time(call, &begin, &end);
    const uint64_t time = end > begin ? end - begin : 0, pause = begin - thread->polled_tick;
    const uint64_t at_once = time + waits_floor / 10;
    bool follows = thread->polled == site && pause < at_once;
    const uint64_t most =
        (thread->polled_usage.is_known ? PAUSE_MOST : FIRST_PAUSE_MOST) * waits_floor;
    if (!thread->polls_on || pause >= most)
        thread->polled_usage.is_known = false;
    else if (!follows && pause >= waits_floor)
        follows = has_slept(thread, pause, time);
    figure_add(&site->stats.polling, follows ? time + pause : time);
    thread->polled = site;
    thread->polled_tick = end;
    thread->polls_on = found_nothing(call, traits);
    return follows;
}

/* Adds the time in MPI, including the wait in the barrier of sync=yes. Also adds the time outside
 * MPI before the call, unless that pause counts as polling. */
static void add_times(const struct layer *layer, struct thread_profile *thread,
                      const QMPIX_Call *call, const struct flight *flight,
                      const struct call_figures *figures, bool is_polling)
{
    uint64_t begin = 0, end = 0;
    const uint64_t key = thread_site_key(figures->site, (size_t)layer->options.depth)[0];
    if (key & CALL_APART || QMPIX_Call_get_time(call, &begin, &end) != MPI_SUCCESS)
        return;
    windows_add_call(&thread->windows, &layer->regions.scale, figures->time + figures->wait, end);
    if (is_polling || !flight || !flight->data)
        outside_end(thread, end);
    else if (!thread->interrupts)
        outside_add(thread, flight->data, begin - figures->wait, end);
}

static void add_figures(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
                        const QMPIX_Word *word, const struct flight *flight, uint64_t time,
                        const struct amount *amount)
{
    const struct traits *traits = &traits_all[call->function->number];
    const uint64_t bytes = amount->sent + amount->received;
    struct call_figures figures = {.time = time,
                                   .wait = flight ? flight->number : 0,
                                   .sent = amount->sent,
                                   .received = amount->received,
                                   .site = site_of_call(layer, thread, call, flight)};
    if (__builtin_expect(!figures.site, 0)) {
        threads_out_of_memory(layer->tool_id);
        return;
    }
    figures.comm = traits->comm >= 0
                       ? find_call_comm(layer, thread, call, figures.site, traits->comm)
                   : traits->has_known_comm ? find_known_comm(layer, thread, call, traits)
                                            : NULL;
    call_add_to_site(figures.site, figures.time);
    add_rest(&figures.site->stats, &figures);
    add_times(layer, thread, call, flight, &figures,
              traits->polls && add_polling(thread, call, figures.site));
    const uint64_t messages =
        amount->messages ? amount->messages : amount->awaits || (bytes && traits->has_transfers);
    if (messages != traits_messages(traits))
        figure_add(&figures.site->more_messages, messages - traits_messages(traits));
    if (bytes)
        figure_add(&figures.site->function->sizes[thread_bin(bytes)], 1);
    if (figures.comm)
        add_to_place(&figures.comm->stats, &figures);
    if (__builtin_expect(traits->is_controlled || traits->file >= 0, 0))
        add_to_places(layer, thread, call, word, figures);
    if (amount->awaits || amount->reads)
        post_receive(layer, thread, call, &figures);
    if (!traits->polls && time > waits_floor &&
        !(thread_site_key(figures.site, (size_t)layer->options.depth)[0] & CALL_APART))
        waits_add(thread, call, figures.site, time, bytes);
}

void call_add(struct layer *layer, struct thread_profile *thread, const QMPIX_Call *call,
              const QMPIX_Word *word, const struct flight *flight, uint64_t time)
{
    const struct traits *traits = &traits_all[call->function->number];
    const bool starts = traits->receives == RECEIVES_STARTS;
    const bool posts = starts || traits->receives == RECEIVES_POSTS;
    struct amount amount = {.thread = thread,
                            .reads_peer = traits->reads_peer,
                            .posts = posts,
                            .is_untold = posts && traits->sends_too};
    if (traits_carry(traits) && has_call_succeeded(call, traits)) {
        find_amount(call, traits, &amount);
        amount.awaits = posts && (starts || amount.awaits);
    }
    add_figures(layer, thread, call, word, flight, time, &amount);
    if (receives_send_may_wait(traits, amount.sent) && has_call_succeeded(call, traits))
        receives_post_send(layer, call, amount.sent);
}

/* ---- Calls that are counted before they return ----------------------------------------------- */

void call_show_early(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct thread_profile *thread = threads_self(layer->tool_id, layer->options.depth);
    struct flight *flight = thread && call_counts(layer, &traits_all[call->function->number])
                                ? flights_begin(&thread->flights, word)
                                : NULL;
    if (flight) {
        call_describe(layer, thread, flight, call);
        flights_publish_since(flight, FLIGHT_NOTED, ticks_now());
    }
}

void call_hide_early(struct layer *layer, const QMPIX_Word *word)
{
    struct thread_profile *thread = threads_self(layer->tool_id, layer->options.depth);
    if (thread)
        flights_end(&thread->flights, word);
}

/* Adds the time outside MPI before a call that is counted early. Without a flight, call_add has
 * counted the call in a site with CALL_APART, to which the time is added. */
static void add_last_time(const struct layer *layer, struct thread_profile *thread,
                          const QMPIX_Call *call)
{
    const uint64_t key = call_make_key(layer, call, false), now = ticks_now();
    if (key & CALL_APART || flights_innermost(&thread->flights) || thread->interrupts)
        return;
    struct thread_site *site =
        thread_site_find(thread, key | CALL_APART, call, layer->options.depth);
    if (site) {
        outside_find(thread, site);
        outside_add(thread, site, now, now);
    }
}

void call_add_early(struct layer *layer, const QMPIX_Call *call)
{
    struct thread_profile *thread = threads_self(layer->tool_id, layer->options.depth);
    if (!thread || !call_counts(layer, &traits_all[call->function->number]))
        return;
    call_add(layer, thread, call, NULL, NULL, 0);
    add_last_time(layer, thread, call);
}
