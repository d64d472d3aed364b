/* SPDX-License-Identifier: MIT */
/*
 * See record.h. Calls are counted after they return, because only then are their arguments known to
 * be valid and their statuses set; control_before makes the exceptions. Most calls are counted in
 * record_after and end_message by inline functions. All others take the general path, begin_call
 * and finish_counted_call, where `word` holds a number other than 0 if the call counts. profile.c
 * says which files read the tables of a thread afterwards.
 */
#include "tools/profile/record/record.h"

#include "toolkit/toolkit.h"
#include "tools/profile/collect/gather.h"
#include "tools/profile/collect/save.h"
#include "tools/profile/record/call.h"
#include "tools/profile/record/objects.h"
#include "tools/profile/record/outside.h"
#include "tools/profile/record/processor.h"
#include "tools/profile/record/receives.h"
#include "tools/profile/record/regions.h"
#include "tools/profile/record/threads.h"
#include "tools/profile/record/traits.h"
#include "tools/profile/record/waits.h"
#include "util/util.h"

/* ---- Functions that change what is counted ---------------------------------------------------
 * These are MPI_Abort, MPI_Pcontrol, the functions that begin and end MPI, those that create, free
 * and name communicators, and those that open and close files (traits.h: is_controlled). They are
 * handled even while profiling is off, and while the layer is switched off.
 */

/* Remembers the handle that a call in progress is freeing (MPI_Comm_free, MPI_Comm_disconnect or
 * MPI_File_close). There may be several, because callbacks of attributes may free other handles
 * within such a call. `number` is the number of the communicator or file. If it is negative,
 * nothing is remembered. */
static void keep_handle(struct layer *layer, const QMPIX_Word *word, bool is_file, int number,
                        uint64_t handle)
{
    struct thread_profile *thread = threads_self(layer->tool_id, layer->options.depth);
    if (thread)
        handles_add_leaving(&thread->leavings,
                            &(struct handle_leaving){word, handle, number, is_file});
}

/* Finishes a call that frees a handle. If the call failed, the handle is still valid, so that it is
 * made known again. */
static void release_handle(struct layer *layer, const QMPIX_Word *word, bool succeeded)
{
    struct thread_profile *thread = threads_self(layer->tool_id, layer->options.depth);
    const struct handle_leaving *leaving =
        thread ? handles_find_leaving(&thread->leavings, word) : NULL;
    if (!leaving)
        return;
    const struct handle_leaving gone = *leaving;
    handles_end_leaving(&thread->leavings, leaving);
    if (!succeeded) {
        pthread_mutex_lock(&layer->lock);
        handles_set(gone.kind ? &layer->files.handles : &layer->comms.handles, gone.handle,
                    gone.number);
        pthread_mutex_unlock(&layer->lock);
    } else if (!gone.kind) {
        objects_free(layer, gone.number);
    }
}

static void begin_comm_free(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    const MPI_Comm comm = argument_comm_at(call, 0);
    if (comm == MPI_COMM_NULL)
        return;
    tool_world_sessions_leave(&layer->sessions, comm,
                              call->function->number == MPI_COMM_DISCONNECT_T);
    keep_handle(layer, word, false, objects_begin_free(layer, comm), HANDLE_WORD(comm));
}

static void begin_file_close(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    const MPI_File file = argument_file_at(call, 0);
    if (file != MPI_FILE_NULL)
        keep_handle(layer, word, true, objects_begin_close(layer, file), HANDLE_WORD(file));
}

static void add_opened_file(struct layer *layer, const QMPIX_Call *call, bool counted,
                            uint64_t time)
{
    enum { FILE_NAME = 1, FILE_HANDLE = 4 };
    const MPI_File file = argument_file_at(call, FILE_HANDLE);
    objects_open_file(layer, file, argument_address(call, FILE_NAME), counted);
    struct thread_profile *thread = threads_self(layer->tool_id, layer->options.depth);
    const uint64_t key = (uint64_t)(int64_t)objects_find_file(&layer->files, file);
    struct thread_object_row *row =
        counted && thread && (int64_t)key >= 0 ? table_get(&thread->files, &key, 1) : NULL;
    if (row)
        thread_count_call(&row->stats, time);
}

/* Does what MPI_Pcontrol demands. This happens after the call, so that the call itself counts
 * outside a region that it opens, and inside a region that it closes. */
static void obey_pcontrol(struct layer *layer, const QMPIX_Call *call)
{
    const int level = *(const int *)call->arguments[0]; /* a plain number, not an MPI constant */
    const QMPIX_Pcontrol_words *words = call->arguments[1];
    char name[PCONTROL_TEXT_MAX];
    if (atomic_load(&layer->closed))
        return;
    switch (level) {
    case 0:
        regions_switch(layer, false);
        break;
    case 1:
        regions_switch(layer, true);
        if (tool_safe_copy_pcontrol(words->word[0], name))
            regions_open(layer, name);
        break;
    case -1:
        if (tool_safe_copy_pcontrol(words->word[0], name))
            regions_close(layer, name);
        break;
    case 2:
        save_current(layer);
        break;
    default:
        break;
    }
}

/* Clears sync=yes if some processes of the job do not have this layer. They would not take part in
 * its barriers, which use the communicators of the program. */
static void check_sync(struct layer *layer, bool is_in_session)
{
    bool is_first;
    if (!layer->options.sync ||
        (is_in_session
             ? tool_world_sessions_are_everywhere(&layer->sessions, layer->tool_id, &is_first)
             : tool_world_is_everywhere(layer->tool_id, &is_first)))
        return;
    if (is_first)
        qmpi_printf(
            "profile (layer %d): sync=yes has no effect, because some processes of the job do "
            "not have this layer with the same options\n  hint: give all programs of the job the "
            "same tools with the same options",
            layer->tool_id);
    layer->options.sync = false;
}

static void begin_profile(struct layer *layer, MPI_Session session)
{
    /* All layers are paused, because they share what processor_begin sets. */
    for (struct layer *other = layer_list; other; other = other->next)
        save_pause_checkpoints(other);
    ticks_refine();
    layer->has_begun = true;
    if (session == MPI_SESSION_NULL)
        check_sync(layer, false);
    objects_begin(layer, session);
    save_correct_name(layer);
    save_watch_signals();
    processor_begin();
    regions_begin(layer);
    for (struct layer *other = layer_list; other; other = other->next)
        save_resume_checkpoints(other);
    save_start_checkpoints(layer);
}

/* Handles MPI_Finalize of a program that has an open session. The report at the end of the session,
 * or that of the process at exit, will contain the data that is reported now, and what is counted
 * until then. */
static void begin_finalize_world(struct layer *layer, const QMPIX_Call *call,
                                 const QMPIX_Word *word, MPI_Session session)
{
    call_add_early(layer, call);
    save_pause_checkpoints(layer);
    call_show_early(layer, call, word);
    objects_end(layer, true);
    save_resume_checkpoints(layer); /* The other ranks may never come. */
    gather_world(layer);
    if (!layer->has_failed) {
        layer->merged_calls = threads_count_calls(layer->tool_id, layer->options.depth);
        layer->has_sessions = true;
        atomic_store(&layer->reported, false); /* more calls may follow */
    }
    objects_begin(layer, session);
    call_hide_early(layer, word);
    save_start_checkpoints(layer);
}

/* Application time ends here, unless a session is open. Calls that the program makes inside
 * MPI_Finalize, in delete callbacks of attributes, are still counted. */
static void begin_finalize(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    MPI_Session session;
    if (tool_world_sessions_are_open(&layer->sessions, &session)) {
        begin_finalize_world(layer, call, word, session);
        return;
    }
    call_add_early(layer, call);
    if (atomic_load(&layer->closed))
        return;
    regions_end(layer);
    layer->finalize = (struct layer_finalize){call, word};
}

/* Merges the results of all ranks if the layer has seen MPI_Finalize. Meanwhile, MPI_Finalize is
 * shown as a call in progress. */
static void finish_world(struct layer *layer)
{
    const QMPIX_Call *call = layer->finalize.call;
    const QMPIX_Word *word = layer->finalize.word;
    if (!call)
        return;
    layer->finalize = (struct layer_finalize){NULL, NULL};
    atomic_store(&layer->closed, true);
    save_pause_checkpoints(layer);
    call_show_early(layer, call, word);
    save_last_checkpoint(layer); /* The other ranks may never come. */
    regions_finish(layer);
    objects_end(layer, true);
    save_resume_checkpoints(layer);
    gather_world(layer);
    call_hide_early(layer, word);
    save_unwatch_signals();
    if (layer->has_failed)
        save_start_checkpoints(layer); /* This process reports at its exit. */
}

void record_finalize(int tool_id, uint64_t ticks)
{
    (void)ticks;
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->tool_id != tool_id)
            continue;
        struct thread_level *level = thread_level_enter();
        finish_world(layer);
        thread_level_leave(level);
    }
}

/* Handles MPI_Session_finalize, and returns whether it merged and reported the data. If other
 * sessions are still open, a later session or the exit reports again. */
static bool begin_session_finalize(struct layer *layer, const QMPIX_Call *call,
                                   const QMPIX_Word *word)
{
    const MPI_Session session = argument_session_at(call, 0);
    MPI_Comm comm;
    bool last = false;
    if (session == MPI_SESSION_NULL)
        return false;
    const bool gathers = tool_world_sessions_end(&layer->sessions, session, &comm, &last);
    if (gathers) {
        save_pause_checkpoints(layer);
        call_add_early(layer, call);
    }
    if (last) {
        regions_end(layer);
        objects_end(layer, false);
    }
    if (gathers) {
        call_show_early(layer, call, word);
        save_resume_checkpoints(layer);
        gather_on(layer, comm);
        call_hide_early(layer, word);
        if (!last) {
            atomic_store(&layer->reported, false);
            save_start_checkpoints(layer);
        }
    }
    return gathers;
}

static void end_session_init(struct layer *layer, const QMPIX_Call *call)
{
    enum { SESSION = 2 };
    const MPI_Session session = argument_session_at(call, SESSION);
    if (!tool_world_sessions_begin(&layer->sessions, session) || tool_world_is_open())
        return;
    atomic_store(&layer->reported, false); /* there is more to come after an earlier session */
    begin_profile(layer, session);
}

static void add_created_comm(struct layer *layer, const QMPIX_Call *call)
{
    enum { COMM = 4 };
    tool_world_sessions_add(&layer->sessions, layer->tool_id, argument_comm_at(call, COMM));
    check_sync(layer, true);
}

/* Returns true if the call is not to be counted when it returns. It has then been counted here if
 * necessary, because the result of the profile is made before the call returns. */
__attribute__((noinline)) static bool control_before(struct layer *layer, const QMPIX_Call *call,
                                                     const QMPIX_Word *word)
{
    switch (call->function->number) {
    case MPI_INIT_T:
    case MPI_INIT_THREAD_T:
        save_watch_early(layer);
        break;
    case MPI_FINALIZE_T:
        begin_finalize(layer, call, word);
        return true;
    case MPI_SESSION_FINALIZE_T:
        return begin_session_finalize(layer, call, word);
    case MPI_ABORT_T:
        save_stop_checkpoints(layer);
        call_add_early(layer, call);
        save_last(layer, "MPI_Abort");
        return true;
    case MPI_COMM_FREE_T:
    case MPI_COMM_DISCONNECT_T:
        begin_comm_free(layer, call, word);
        break;
    case MPI_FILE_CLOSE_T:
        begin_file_close(layer, call, word);
        break;
    default:
        break;
    }
    return false;
}

/* `counted` tells whether the call counts, and `time` is its duration in ticks. */
__attribute__((noinline)) static void control_after(struct layer *layer, const QMPIX_Call *call,
                                                    const QMPIX_Word *word, bool counted,
                                                    uint64_t time)
{
    const bool succeeded = argument_result_is_success(call);
    switch (call->function->number) {
    case MPI_COMM_FREE_T:
    case MPI_COMM_DISCONNECT_T:
    case MPI_FILE_CLOSE_T:
        release_handle(layer, word, succeeded);
        break;
    case MPI_PCONTROL_T:
        obey_pcontrol(layer, call);
        break;
    case MPI_FINALIZE_T:
        if (tool_world_is_open()) /* A lower layer has not passed the call on. */
            finish_world(layer);
        break;
    default:
        break;
    }
    if (!succeeded)
        return;
    /* Thus even a first call that never returns is listed with the name of the communicator. */
    if (traits_all[call->function->number].created >= 0)
        objects_meet_comm(layer,
                          argument_comm_at(call, traits_all[call->function->number].created));
    switch (call->function->number) {
    case MPI_INIT_T:
    case MPI_INIT_THREAD_T:
        atomic_store(&layer->reported, false); /* there is more to come after an earlier session */
        begin_profile(layer, MPI_SESSION_NULL);
        break;
    case MPI_SESSION_INIT_T:
        end_session_init(layer, call);
        break;
    case MPI_COMM_CREATE_FROM_GROUP_T:
        add_created_comm(layer, call);
        break;
    case MPI_COMM_SET_NAME_T:
        objects_rename_comm(layer, argument_comm(call, 0), argument_address(call, 1));
        break;
    case MPI_FILE_OPEN_T:
        add_opened_file(layer, call, counted, time);
        break;
    default:
        break;
    }
}

/* ---- The general path ------------------------------------------------------------------------ */

/* Waits in a barrier and returns the ticks that this took. This is done even while profiling is
 * off, because ranks on which it is on wait in the same barrier. */
static uint64_t wait_for_others(const QMPIX_Call *call, struct flight *flight, bool counted,
                                int argument)
{
    const MPI_Comm comm = argument_comm(call, argument);
    int world;
    if (QMPIX_Comm_world_rank(comm, 0, &world) != MPI_SUCCESS)
        return 0; /* The communicator is invalid, so the call will fail. */
    const uint64_t begin = ticks_now();
    if (flight && counted)
        flights_publish_since(flight, FLIGHT_WAITS, begin);
    PMPI_Barrier(comm);
    return ticks_now() - begin;
}

static void begin_call(struct layer *layer, struct thread_level *level, const QMPIX_Call *call,
                       QMPIX_Word *word)
{
    const struct traits *traits = &traits_all[call->function->number];
    if (traits->is_controlled && control_before(layer, call, word))
        return;
    struct thread_profile *thread = threads_at(level, layer->tool_id, layer->options.depth);
    const bool counted = thread && call_counts(layer, traits);
    const bool completes = traits->receives == RECEIVES_COMPLETES;
    struct flight *flight =
        thread && (counted || completes) ? flights_begin(&thread->flights, word) : NULL;
    if (flight && counted)
        call_describe(layer, thread, flight, call);
    if (flight && completes)
        receives_hold(layer, flight, call);
    if (traits->receives == RECEIVES_FREES)
        receives_forget(layer, call);
    if (layer->options.sync && traits->waits) {
        const uint64_t wait = wait_for_others(call, flight, counted, traits->comm);
        if (flight)
            flights_renumber(flight, wait);
    }
    if (!counted)
        return;
    word->number = 1;
    if (flight)
        flights_publish_run(flight, call, word);
}

static void finish_counted_call(struct layer *layer, struct thread_level *level,
                                const QMPIX_Call *call, const QMPIX_Word *word, uint64_t time)
{
    const struct traits *traits = &traits_all[call->function->number];
    const bool counted = word->number != 0, completes = traits->receives == RECEIVES_COMPLETES;
    struct thread_profile *thread = threads_at(level, layer->tool_id, layer->options.depth);
    struct flight *flight = thread ? flights_end(&thread->flights, word) : NULL;
    if (thread && completes)
        waits_expect(thread, time);
    if (flight && completes)
        receives_complete(layer, thread, flight, call);
    if (thread && counted)
        call_add(layer, thread, call, word, flight, time);
    if (thread && traits->receives == RECEIVES_MAKES && argument_result_is_success(call))
        receives_add(layer, call);
    if (traits->is_controlled)
        control_after(layer, call, word, counted, time);
}

/* ---- Calls that transfer one message ---------------------------------------------------------
 * This is a fast path for calls such as MPI_Send and MPI_Recv. call_add counts all other calls.
 */

struct message {
    uint64_t bytes;
    struct thread_matrix_row *cell; /* counts messages to the peer; NULL: the message is received */
};

/*
 * Finds the size of the datatype of a call if the site does not remember it. Returns false if MPI
 * does not know the size.
 *
 * The site remembers the size of a predefined type only, because the handle of a derived type may
 * be reused for another type. site->type is cleared first and set last: if the function is left
 * with longjmp or an exception in between, no wrong size is remembered. If the count is 0, MPI is
 * not asked for the size, because the type may be an invalid value that nobody has checked.
 */
__attribute__((noinline)) static bool site_type_size(struct thread_site *site,
                                                     const QMPIX_Call *call, uint64_t *size)
{
    const MPI_Datatype type = argument_type(call, MESSAGE_TYPE);
    const uint64_t word = argument_word(call, MESSAGE_TYPE);
    MPI_Count bytes = 0;
    *size = 0;
    if (!argument_int(call, MESSAGE_COUNT))
        return true;
    if (PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0)
        return false;
    *size = (uint64_t)bytes;
    if (site->derived == word)
        return true;
    if (argument_type_is_predefined(type)) {
        __atomic_store_n(&site->type, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&site->type_size, *size, __ATOMIC_RELEASE);
        __atomic_store_n(&site->type, word, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&site->derived, word, __ATOMIC_RELEASE);
    }
    return true;
}

/* Returns the row that counts messages to `peer`, which the site does not remember, and makes the
 * site remember it. Returns NULL if there is none, or memory is exhausted. site->cell is cleared
 * first and set last: if the function is left with longjmp or an exception in between, the cell is
 * looked up again. */
__attribute__((noinline)) static struct thread_matrix_row *
find_matrix_cell(struct thread_profile *thread, const QMPIX_Call *call, struct thread_site *site,
                 int peer)
{
    int world = MPI_UNDEFINED;
    if (QMPIX_Comm_world_rank(argument_comm(call, MESSAGE_COMM), peer, &world) != MPI_SUCCESS ||
        world < 0)
        return NULL;
    const uint64_t key = (uint64_t)world << 1 | 1;
    struct thread_matrix_row *cell = table_get(&thread->matrix, &key, 1);
    __atomic_store_n(&site->cell, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&site->peer, peer, __ATOMIC_RELEASE);
    __atomic_store_n(&site->cell, cell, __ATOMIC_RELEASE);
    return cell;
}

static inline bool find_sent_message(struct thread_profile *thread, const QMPIX_Call *call,
                                     struct thread_site *site, struct message *message)
{
    const int peer = argument_int(call, MESSAGE_PEER);
    uint64_t size = site->type_size;
    if (__builtin_expect(site->type != argument_word(call, MESSAGE_TYPE), 0) &&
        !site_type_size(site, call, &size))
        return false;
    message->bytes = (uint64_t) * (const int *)call->arguments[MESSAGE_COUNT] * size;
    message->cell =
        site->cell && site->peer == peer ? site->cell : find_matrix_cell(thread, call, site, peer);
    return message->cell != NULL;
}

/* The call has a status even if the program ignores it (see QMPIX_OBSERVE_STATUSES). */
static inline bool find_received_message(const QMPIX_Call *call, struct message *message)
{
    MPI_Count bytes;
    message->cell = NULL;
    if (argument_int(call, MESSAGE_PEER) == MPI_PROC_NULL ||
        QMPIX_Call_get_status_bytes(call, MESSAGE_STATUS, 0, &bytes) != MPI_SUCCESS)
        return false;
    message->bytes = (uint64_t)bytes;
    return true;
}

/* Finds the message of a call. site->row must belong to the communicator of the call. Returns false
 * if the call has no message or must be counted by call_add. */
static inline bool find_message(struct thread_profile *thread, const QMPIX_Call *call,
                                struct thread_site *site, struct message *message)
{
    if (!argument_result_is_success(call))
        return false;
    return site->end == ENDS_SENDING ? find_sent_message(thread, call, site, message)
                                     : find_received_message(call, message);
}

static inline void add_message(struct thread_site *site, const struct message *message)
{
    const uint64_t bytes = message->bytes;
    struct thread_matrix_row *cell = message->cell;
    if (cell) {
        figure_add(&cell->messages, 1);
        figure_add(&cell->bytes, bytes);
    }
    if (!bytes) {
        figure_add(&site->more_messages, UINT64_MAX);
        return;
    }
    figure_add(&site->function->sizes[thread_bin(bytes)], 1);
    figure_add(cell ? &site->stats.sent : &site->stats.received, bytes);
    figure_add(cell ? &site->row->stats.sent : &site->row->stats.received, bytes);
}

/* ---- Callbacks -------------------------------------------------------------------------------
 * Most calls come from a known call site and are not made within another call. This is checked
 * before anything changes, and such calls are counted without calling another function.
 */

__attribute__((noinline)) static void begin_any_call(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct thread_level *level = thread_level_enter_at(word);
    begin_call(call->observer->data, level, call, word);
    thread_level_leave(level);
}

__attribute__((noinline)) static void end_any_call(const QMPIX_Call *call, const QMPIX_Word *word)
{
    uint64_t begun = 0, ended = 0;
    struct thread_level *level = thread_level_enter_at(word);
    QMPIX_Call_get_time(call, &begun, &ended);
    finish_counted_call(call->observer->data, level, call, word, ended > begun ? ended - begun : 0);
    thread_level_leave(level);
}

/* Returns the tables of this thread for a layer, or NULL if they do not exist or the level is
 * busy, that is, if a signal handler has interrupted work on them. */
static inline struct thread_profile *find_idle_thread(const struct layer *layer,
                                                      const struct thread_level *level)
{
    const struct thread_row *row = (const struct thread_row *)level;
    return __builtin_expect(row && !level->busy, 1) ? row->by_layer[layer->tool_id] : NULL;
}

/* Begins a call that outside_find_soon has not prepared. */
__attribute__((noinline)) static void begin_elsewhere(const QMPIX_Call *call, QMPIX_Word *word,
                                                      struct thread_profile *thread,
                                                      struct thread_site *site)
{
    struct thread_level *level = thread_level_current;
    thread_level_take(level, word);
    outside_find(thread, site);
    flights_run_first(&thread->flights, call, word, 0, site);
    thread_level_leave_first(level);
}

__attribute__((always_inline)) static inline void
record_begin(const QMPIX_Call *call, QMPIX_Word *word, void **callers, size_t depth)
{
    const struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct thread_profile *thread = find_idle_thread(layer, level);
    const uint64_t key = (uint64_t)call->function->number | regions_place(&layer->regions);
    struct thread_site *site;
    if (__builtin_expect(thread && flights_are_none(&thread->flights) &&
                             (site = thread_site_find_recent(thread, key, callers, depth)),
                         1)) {
        if (__builtin_expect(!outside_find_soon(thread, site), 0)) {
            begin_elsewhere(call, word, thread, site);
            return;
        }
        thread_level_take(level, word);
        flights_run_first(&thread->flights, call, word, 0, site);
        thread_level_leave_first(level);
    } else {
        begin_any_call(call, word);
    }
}

void record_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    void *caller;
    thread_site_find_callers(call, &caller, 1, false);
    record_begin(call, word, &caller, 1);
}

void record_before_deep(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct layer *layer = call->observer->data;
    void *callers[PROFILE_DEPTH_MAX];
    if (traits_all[call->function->number].begins_simply) {
        thread_site_find_callers(call, callers, (size_t)layer->options.depth,
                                 layer->options.python);
        record_begin(call, word, callers, (size_t)layer->options.depth);
    } else {
        begin_any_call(call, word);
    }
}

static inline uint64_t duration(uint64_t begun, uint64_t ended)
{
    return __builtin_expect_with_probability(ended > begun, 1, 1.0) ? ended - begun : 0;
}

__attribute__((noinline)) static void end_message(const QMPIX_Call *call, QMPIX_Word *word,
                                                  struct thread_profile *thread)
{
    struct thread_level *level = thread_level_current;
    struct thread_site *site = thread->flights.first.data;
    const uint64_t *times = flights_times(call);
    const uint64_t begun = times[0], ended = times[1], time = duration(begun, ended);
    const struct layer *layer = call->observer->data;
    struct message message;
    thread_level_take(level, word);
    const bool found = find_message(thread, call, site, &message);
    if (found) {
        flights_end_first(&thread->flights);
        call_add_to_site(site, time);
        thread_count_call(&site->row->stats, time);
        windows_add_call(&thread->windows, &layer->regions.scale, time, ended);
        outside_add(thread, site, begun, ended);
        add_message(site, &message);
        if (__builtin_expect(time > waits_floor, 0))
            waits_add(thread, call, site, time, message.bytes);
        if (__builtin_expect(
                receives_send_may_wait(&traits_all[call->function->number], message.bytes), 0))
            receives_post_send(call->observer->data, call, message.bytes);
    }
    thread_level_leave_first(level);
    if (!found)
        end_any_call(call, word);
}

/* Returns whether the call is the only one in progress in the thread, and ends in the usual way. If
 * so, sets *row to the row of its communicator, or NULL if it has no communicator. */
static inline bool ends_usually(const struct layer *layer, const struct thread_profile *thread,
                                const QMPIX_Call *call, const QMPIX_Word *word,
                                struct thread_object_row **row)
{
    const struct thread_site *site = thread->flights.first.data;
    if (!flights_run_only(&thread->flights, word) || !site ||
        site->usual != regions_place(&layer->regions))
        return false;
    *row = NULL;
    if (site->comm_argument < 0)
        return true;
    *row = site->row;
    return call_is_on_comm_of(layer, site, argument_word(call, site->comm_argument));
}

/* Finishes a call that ends in another window than the last one. record_after calls this function
 * as its last action, and therefore need not save registers. */
__attribute__((noinline)) static void end_in_next_window(const struct layer *layer,
                                                         struct thread_profile *thread,
                                                         struct thread_level *level, uint64_t time,
                                                         uint64_t ended)
{
    windows_add(&thread->windows, &layer->regions.scale, ended - time, ended);
    thread_level_leave_first(level);
}

void record_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct layer *layer = call->observer->data;
    struct thread_level *level = thread_level_current;
    struct thread_profile *thread = find_idle_thread(layer, level);
    struct thread_object_row *row;
    if (__builtin_expect(!thread || !ends_usually(layer, thread, call, word, &row), 0)) {
        end_any_call(call, word);
        return;
    }
    struct thread_site *site = thread->flights.first.data;
    if (site->end != ENDS_PLAINLY) {
        end_message(call, word, thread);
        return;
    }
    thread_level_take(level, word);
    const uint64_t *times = flights_times(call);
    const uint64_t begun = times[0], ended = times[1], time = duration(begun, ended);
    outside_add(thread, site, begun, ended);
    flights_end_first(&thread->flights);
    call_add_to_site(site, time);
    if (row)
        thread_count_call(&row->stats, time);
    if (__builtin_expect(ended >= thread->windows.end, 0)) {
        end_in_next_window(layer, thread, level, time, ended);
        return;
    }
    figure_add(thread->windows.time, time);
    thread_level_leave_first(level);
}
