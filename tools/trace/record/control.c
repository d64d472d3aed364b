/* SPDX-License-Identifier: MIT */
/* See control.h. */
#define _GNU_SOURCE
#include "tools/trace/record/control.h"

#include "tools/trace/record/call_events.h"
#include "tools/trace/record/counters.h"
#include "tools/trace/record/objects.h"
#include "tools/trace/save/formats.h"
#include "tools/trace/save/process_file.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

bool control_has_events(const struct traits *traits)
{
    return traits == &traits_all[MPI_PCONTROL_T];
}

/* ---- Regions --------------------------------------------------------------------------------- */

struct region {
    char *name;
    int open; /* how many times it is open */
    bool is_chosen;
};

struct regions {
    struct region *all;
    size_t room;
    uint32_t count;
    int chosen_open;
};

static struct region *find_region(struct layer *layer, const char *name)
{
    struct regions *regions = layer->regions;
    uint32_t i = 0;
    while (regions && i < regions->count && strcmp(regions->all[i].name, name) != 0)
        i++;
    return regions && i < regions->count ? &regions->all[i] : NULL;
}

static struct region *add_named_region(struct layer *layer, const char *name)
{
    if (!layer->regions && !(layer->regions = calloc(1, sizeof *layer->regions)))
        return NULL;
    struct regions *regions = layer->regions;
    const bool has_room = QMPI_MEMORY_RESERVE(regions->all, regions->room, regions->count + 1);
    struct record_definition *definition =
        has_room ? record_definition_make(DEFINES_REGION, regions->count) : NULL;
    char *copy = definition ? strdup(name) : NULL, *defined = copy ? strdup(name) : NULL;
    if (!defined) {
        free(copy);
        free(definition);
        return NULL;
    }
    definition->region.name = defined;
    record_definition_queue(layer, definition);
    struct region *region = &regions->all[regions->count++];
    *region = (struct region){copy, 0,
                              layer->options.regions &&
                                  qmpi_value_matches_patterns(layer->options.regions, name, false)};
    return region;
}

/*
 * The following two functions begin and end a region. They return its index, or TRACE_NONE if a
 * region that ends was not open, or memory is exhausted. With regions=, they set *changes to 1 if
 * recording must be switched on, and to -1 if it must be switched off; otherwise to 0.
 */
static uint32_t begin_region(struct layer *layer, const char *name, int *changes)
{
    *changes = 0;
    pthread_mutex_lock(&layer->lock);
    struct region *region = find_region(layer, name);
    if (!region)
        region = add_named_region(layer, name);
    if (region) {
        region->open++;
        *changes = region->is_chosen && !layer->regions->chosen_open++;
    }
    const uint32_t index = region ? (uint32_t)(region - layer->regions->all) : TRACE_NONE;
    pthread_mutex_unlock(&layer->lock);
    return index;
}

static uint32_t end_region(struct layer *layer, const char *name, int *changes)
{
    *changes = 0;
    pthread_mutex_lock(&layer->lock);
    struct region *region = find_region(layer, name);
    const bool is_open = region && region->open;
    if (is_open) {
        region->open--;
        *changes = region->is_chosen && !--layer->regions->chosen_open ? -1 : 0;
    }
    const uint32_t index = is_open ? (uint32_t)(region - layer->regions->all) : TRACE_NONE;
    pthread_mutex_unlock(&layer->lock);
    return index;
}

/* ---- MPI_Pcontrol ---------------------------------------------------------------------------- */

static bool region_name(const QMPIX_Call *call, char name[PCONTROL_TEXT_MAX])
{
    const QMPIX_Pcontrol_words *words = call->arguments[1];
    return tool_safe_copy_pcontrol(words->word[0], name);
}

static int pcontrol_level(const QMPIX_Call *call)
{
    /* MPI has no constants for levels, so they need no conversion. */
    return *(const int *)call->arguments[0];
}

/* Records the region that MPI_Pcontrol begins or ends. If this switches recording on, the region is
 * recorded afterwards. If it switches recording off, the region is recorded first, and end_pcontrol
 * then switches recording off. */
static void follow_pcontrol(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    struct layer *layer = recorder->layer;
    char name[PCONTROL_TEXT_MAX];
    int changes = 0;
    const int level = pcontrol_level(call);
    if (level == 1 && region_name(call, name)) {
        const uint32_t index = begin_region(layer, name, &changes);
        if (changes > 0)
            layer_set_off(layer, LAYER_OFF_REGION, false);
        recorder->is_mute = !call_events_follow_switches(recorder);
        recorder_put_object(recorder, TRACE_REGION_BEGIN, index, ticks);
    } else if (level == -1 && region_name(call, name)) {
        recorder->is_mute = !call_events_follow_switches(recorder);
        recorder_put_object(recorder, TRACE_REGION_END, end_region(layer, name, &changes), ticks);
        recorder->region_ends = changes < 0;
    }
}

static void end_pcontrol(struct recorder *recorder, const QMPIX_Call *call)
{
    struct layer *layer = recorder->layer;
    const int level = pcontrol_level(call);
    if (level == 0 || level == 1)
        layer_set_off(layer, LAYER_OFF_PCONTROL, level == 0);
    if (recorder->region_ends)
        layer_set_off(layer, LAYER_OFF_REGION, true);
    recorder->region_ends = false;
}

/* ---- The beginning of MPI -------------------------------------------------------------------- */

static int64_t nanoseconds_from_now(uint64_t nanoseconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + (int64_t)nanoseconds;
}

static void set_window(struct layer *layer)
{
    if (layer->options.begin > 0)
        layer->writer.begin_at = nanoseconds_from_now(layer->options.begin);
    if (layer->options.end != UINT64_MAX)
        layer->writer.end_at = nanoseconds_from_now(layer->options.end);
}

QMPI_COMPUTES static void start_recording(struct layer *layer, MPI_Session session)
{
    MPI_Comm comm;
    ticks_refine();
    objects_begin(layer, session);
    layer->init_ticks = ticks_now();
    const bool is_chosen = qmpi_value_set_has(&layer->options.ranks, (uint64_t)layer->rank);
    layer_set_off(layer, LAYER_OFF_RANK, !is_chosen);
    if (!is_chosen)
        atomic_fetch_or(&layer->omits, (unsigned)TRACE_OMITS_BEGINNING);
    if (!layer->has_started)
        set_window(layer);
    process_file_watch_save_signal(layer, false);
    process_file_watch_termination();
    if (session == MPI_SESSION_NULL && !layer->has_started &&
        tool_world_create_comm(layer->tool_id, &comm)) {
        layer->has_started = true;
        process_file_start_all(layer, comm);
        PMPI_Comm_free(&comm);
    }
    counters_begin(layer);
}

static void begin_trace(struct layer *layer, MPI_Session session)
{
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    start_recording(layer, session);
    qmpi_arithmetic_end(&before);
}

/* Handles a session that has begun. If this session has initialized MPI, begins the trace and
 * returns true. */
static bool begin_session(struct layer *layer, const QMPIX_Call *call)
{
    enum { SESSION = 2 };
    const MPI_Session session = argument_session_at(call, SESSION);
    if (!tool_world_sessions_begin(&layer->sessions, session) || tool_world_is_open())
        return false;
    begin_trace(layer, session);
    return true;
}

/* Says that calls of sessions are lost, because the trace is complete. */
static void say_late(struct layer *layer)
{
    if (layer->rank <= 0 && !atomic_exchange(&layer->has_said_late, true))
        qmpi_printf("trace (layer %d): a communicator was created from a session after the end of "
                    "the trace; its calls are not recorded\n  hint: create a communicator of all "
                    "processes from this session before MPI_Finalize, and before another such "
                    "session ends",
                    layer->tool_id);
}

void control_comm_created(struct layer *layer, const QMPIX_Call *call)
{
    enum { COMM = 4 };
    tool_world_sessions_add(&layer->sessions, layer->tool_id, argument_comm_at(call, COMM));
    if (atomic_load(&layer->writer.has_ended))
        say_late(layer);
    /* All processes agree on the directory as soon as a communicator contains all of them. */
    if (layer->sessions.private_comm != MPI_COMM_NULL && !layer->has_started) {
        layer->has_started = true;
        process_file_start_all(layer, layer->sessions.private_comm);
    }
}

void control_free_comm(struct layer *layer, const QMPIX_Call *call)
{
    const MPI_Comm comm = argument_comm_at(call, 0);
    if (comm != MPI_COMM_NULL)
        tool_world_sessions_leave(&layer->sessions, comm,
                                  call->function->number == MPI_COMM_DISCONNECT_T);
}

/* ---- The end of MPI -------------------------------------------------------------------------- */

/* Records a call before it is carried out, because the file may be complete before the call
 * returns. */
static void put_last_call(struct recorder *recorder, const struct flight *flight, bool is_on)
{
    const uint64_t now = ticks_now();
    if (is_on)
        recorder_put(recorder, RECORD_CALL, flight->number, now, now);
}

/* Called at the beginning of MPI_Finalize. The trace ends in MPI_Finalize, unless a session
 * continues after it. The program may still make calls within MPI_Finalize, in delete callbacks of
 * attributes, so finish_world completes the trace later. */
static void begin_finalize(struct recorder *recorder, const QMPIX_Word *word)
{
    struct layer *layer = recorder->layer;
    MPI_Session session;
    layer->finalize_ticks = ticks_now(); /* the clocks are compared now */
    if (tool_world_sessions_outlive_world(&layer->sessions, &session)) {
        objects_begin(layer, session);
        atomic_store(&layer->asks_early, false); /* MPI must not be queried any more */
        /* Saved now, because the program may never finalize the session. */
        process_file_request_save(layer);
        return;
    }
    layer->finalizing = recorder;
    layer->finalize_word = word;
}

/* Records MPI_Finalize while it is in progress, because the file must be complete when it returns.
 * Its duration is 0 unless other calls were made within it, because the remaining time is used by
 * tools. */
static void put_finalize(struct recorder *recorder, const QMPIX_Word *word, uint64_t ticks)
{
    struct flight *flight = flights_find(&recorder->flights, word);
    if (!flight)
        return;
    call_events_end_inner(recorder, flight);
    const uint64_t times = *flights_times(flight->call), begin = times ? times : ticks;
    recorder->is_mute = !call_events_follow_switches(recorder);
    if (flight_state(flight->mark) == FLIGHT_NOTED)
        recorder_put(recorder, RECORD_CLOSE, flight->number, ticks, 0);
    else if (flight_state(flight->mark) == FLIGHT_RUNS)
        recorder_put(recorder, RECORD_CALL, flight->number, begin, begin);
    recorder->is_mute = false;
    flights_end(&recorder->flights, word);
}

/* Completes the trace in MPI_Finalize if the layer has seen this call. `ticks` is the time after
 * the last call of the program. */
static void finish_world(struct layer *layer, struct recorder *recorder, uint64_t ticks)
{
    MPI_Comm comm;
    if (!layer->finalizing)
        return;
    if (layer->finalizing == recorder)
        put_finalize(recorder, layer->finalize_word, ticks);
    layer->finalizing = NULL;
    counters_end(layer);
    layer_set_off(layer, LAYER_OFF_CLOSED, true);
    process_file_end(layer, TRACE_END_FINALIZE);
    objects_end(layer);
    if (tool_world_create_comm(layer->tool_id, &comm)) {
        formats_write(layer, comm);
        PMPI_Comm_free(&comm);
    }
}

void control_finalize(int tool_id, uint64_t ticks)
{
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->tool_id != tool_id)
            continue;
        struct thread_level *level = thread_level_enter();
        finish_world(layer, level ? recorder_at(level, layer) : NULL, ticks);
        thread_level_leave(level);
    }
}

static void finalize_session(struct recorder *recorder, const QMPIX_Call *call,
                             const struct flight *flight, bool is_on)
{
    struct layer *layer = recorder->layer;
    const MPI_Session session = argument_session_at(call, 0);
    MPI_Comm comm;
    bool last = false;
    if (session == MPI_SESSION_NULL)
        return;
    const bool gathers = tool_world_sessions_end(&layer->sessions, session, &comm, &last);
    if (gathers)
        put_last_call(recorder, flight, is_on);
    if (last) {
        counters_end(layer);
        objects_end(layer);
    }
    if (!gathers)
        return;
    /* All processes complete their files now. Later sessions are not recorded. */
    if (!layer->finalize_ticks)
        layer->finalize_ticks = ticks_now();
    process_file_end_sessions(layer);
    formats_write(layer, comm);
    PMPI_Comm_free(&comm);
}

static void abort_process(struct recorder *recorder, struct flight *flight, bool is_on)
{
    const uint64_t now = ticks_now();
    if (is_on) {
        recorder_put(recorder, RECORD_OPEN, flight->number, now, 0);
        flights_publish_since(flight, FLIGHT_NOTED, now);
    }
    process_file_end(recorder->layer, TRACE_END_ABORT);
}

bool control_begins_mpi(const QMPIX_Call *call)
{
    const int number = call->function->number;
    return (number == MPI_INIT_T || number == MPI_INIT_THREAD_T || number == MPI_SESSION_INIT_T) &&
           argument_result_is_success(call);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

bool control_before(struct recorder *recorder, const QMPIX_Call *call, struct flight *flight,
                    bool is_on)
{
    switch (call->function->number) {
    case MPI_INIT_T:
    case MPI_INIT_THREAD_T:
        process_file_watch_save_signal(recorder->layer, true);
        return false;
    case MPI_FINALIZE_T:
        begin_finalize(recorder, flight->word);
        return false;
    case MPI_SESSION_FINALIZE_T:
        finalize_session(recorder, call, flight, is_on);
        return false;
    case MPI_ABORT_T:
        abort_process(recorder, flight, is_on);
        return true;
    default:
        return false;
    }
}

void control_after(struct recorder *recorder, const QMPIX_Call *call, bool has_succeeded,
                   uint64_t ticks)
{
    if (call->function->number == MPI_PCONTROL_T && has_succeeded)
        follow_pcontrol(recorder, call, ticks);
}

/* Records how long the tool itself has taken in the initialization of MPI, because this time does
 * not belong to the program. */
static void put_tool_time(struct recorder *recorder, uint64_t from)
{
    struct trace_event event;
    if (!call_events_follow_switches(recorder))
        return;
    trace_event_clear(&event, TRACE_FLUSH, from);
    event.bytes = ticks_now() - from;
    recorder_put_event(recorder, &event);
}

void control_end(struct recorder *recorder, const QMPIX_Call *call)
{
    const uint64_t now = ticks_now();
    if (call->function->number == MPI_PCONTROL_T)
        end_pcontrol(recorder, call);
    if (!argument_result_is_success(call))
        return;
    switch (call->function->number) {
    case MPI_INIT_T:
    case MPI_INIT_THREAD_T:
        begin_trace(recorder->layer, MPI_SESSION_NULL);
        put_tool_time(recorder, now);
        break;
    case MPI_SESSION_INIT_T:
        if (begin_session(recorder->layer, call))
            put_tool_time(recorder, now);
        break;
    case MPI_FINALIZE_T:
        if (tool_world_is_open()) /* a lower layer did not pass on the call, so control_finalize was
                                     not called */
            finish_world(recorder->layer, recorder, now);
        break;
    default:
        break;
    }
}
