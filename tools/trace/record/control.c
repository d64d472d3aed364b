/* SPDX-License-Identifier: MIT */
/* See control.h. */
#include "record/control.h"

#include "record/counters.h"
#include "record/notice.h"
#include "record/objects.h"
#include "record/regions.h"
#include "record/switches.h"
#include "save/snapshot.h"
#include "save/start.h"
#include "save/termination.h"

#include <time.h>

bool control_tells(const struct traits *traits)
{
    return traits == &traits_all[MPI_PCONTROL_T];
}

/* ---- MPI_Pcontrol ---------------------------------------------------------------------------- */

static bool region_name(const QMPIX_Call *call, char name[PCONTROL_TEXT_MAX])
{
    const QMPIX_Pcontrol_words *words = call->arguments[1];
    return copy_pcontrol_text(words->word[0], name);
}

static int level_of(const QMPIX_Call *call)
{
    return *(const int *)call->arguments[0]; /* no constant of MPI */
}

static void put_region(struct recorder *recorder, enum trace_kind kind, uint32_t index,
                       uint64_t ticks)
{
    struct trace_event event;
    if (index == TRACE_NONE)
        return;
    trace_event_clear(&event, kind, ticks);
    event.object = index;
    recorder_put_event(recorder, &event);
}

/* A region that switches recording on begins after that, one that switches it off ends before. */
static void control(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks)
{
    struct layer *layer = recorder->layer;
    char name[PCONTROL_TEXT_MAX];
    int changes = 0;
    const int level = level_of(call);
    if (level == 1 && region_name(call, name)) {
        const uint32_t index = regions_begin(layer, name, &changes);
        if (changes > 0)
            switches_set(layer, OFF_REGION, false);
        recorder->is_mute = !notice_switches(recorder);
        put_region(recorder, TRACE_REGION_BEGIN, index, ticks);
    } else if (level == -1 && region_name(call, name)) {
        recorder->is_mute = !notice_switches(recorder);
        put_region(recorder, TRACE_REGION_END, regions_end(layer, name, &changes), ticks);
        recorder->region_ends = changes < 0;
    }
}

static void end_control(struct recorder *recorder, const QMPIX_Call *call)
{
    struct layer *layer = recorder->layer;
    const int level = level_of(call);
    if (level == 0 || level == 1)
        switches_set(layer, OFF_PCONTROL, level == 0);
    if (recorder->region_ends)
        switches_set(layer, OFF_REGION, true);
    recorder->region_ends = false;
}

/* ---- The beginning of MPI -------------------------------------------------------------------- */

static bool has_world(void)
{
    int initialized = 0;
    PMPI_Initialized(&initialized);
    return initialized;
}

static int64_t nanoseconds_from_now(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + (int64_t)(seconds * 1e9);
}

static void begin_mpi(struct layer *layer, MPI_Session session)
{
    MPI_Comm comm;
    ticks_refine();
    objects_begin(layer, session);
    layer->init_ticks = ticks_now();
    const bool is_chosen = qmpi_number_set_has(&layer->options.ranks, (uint64_t)layer->rank);
    switches_set(layer, OFF_RANK, !is_chosen);
    if (!is_chosen)
        atomic_fetch_or(&layer->omits, (unsigned)TRACE_OMITS_BEGINNING);
    if (layer->options.begin > 0)
        layer->writer.begin = nanoseconds_from_now(layer->options.begin);
    if (layer->options.end >= 0)
        layer->writer.stop = nanoseconds_from_now(layer->options.end);
    snapshot_watch(layer);
    termination_watch();
    if (session == MPI_SESSION_NULL && tool_private_comm(&comm)) {
        start_all(layer, comm);
        PMPI_Comm_free(&comm);
    }
    counters_begin(layer);
}

/* Returns whether MPI begins with it. */
static bool open_session(struct layer *layer, const QMPIX_Call *call)
{
    enum { SESSION = 2 };
    const MPI_Session session = argument_session_at(call, SESSION);
    if (!tool_sessions_begin(&layer->sessions, session) || has_world())
        return false;
    begin_mpi(layer, session);
    return true;
}

void control_comm_created(struct layer *layer, const QMPIX_Call *call)
{
    enum { COMM = 4 };
    tool_sessions_add(&layer->sessions, argument_comm_at(call, COMM));
    /* The first communicator of all processes: they agree on where to write. */
    if (layer->sessions.private_comm != MPI_COMM_NULL && !atomic_load(&layer->writer.runs) &&
        !layer->has_started) {
        layer->has_started = true;
        start_all(layer, layer->sessions.private_comm);
    }
}

void control_free_comm(struct layer *layer, const QMPIX_Call *call)
{
    const MPI_Comm comm = argument_comm_at(call, 0);
    if (comm != MPI_COMM_NULL)
        tool_sessions_leave(&layer->sessions, comm,
                            call->function->number == MPI_COMM_DISCONNECT_T);
}

/* ---- Its end --------------------------------------------------------------------------------- */

/* Recorded before it is called: the file is complete then. */
static void put_call(struct recorder *recorder, const struct flight *flight, bool is_on)
{
    const uint64_t now = ticks_now();
    if (is_on)
        recorder_put(recorder, RAW_CALL, flight->number, now, now);
}

static void finalize(struct recorder *recorder, const struct flight *flight, bool is_on)
{
    struct layer *layer = recorder->layer;
    MPI_Comm comm;
    put_call(recorder, flight, is_on);
    counters_end(layer);
    switches_set(layer, OFF_CLOSED, true);
    layer->finalize_ticks = ticks_now();
    termination_end(layer, TRACE_END_FINALIZE, NULL);
    objects_end(layer);
    if (tool_private_comm(&comm)) {
        PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        finish_all(layer, comm);
        PMPI_Comm_free(&comm);
    }
}

/* With the last session MPI is gone, unless MPI_Init was called. */
static void finalize_session(struct recorder *recorder, const QMPIX_Call *call,
                             const struct flight *flight, bool is_on)
{
    struct layer *layer = recorder->layer;
    const MPI_Session session = argument_session_at(call, 0);
    MPI_Comm comm;
    bool last = false;
    if (session == MPI_SESSION_NULL)
        return;
    const bool gathers = tool_sessions_end(&layer->sessions, session, &comm, &last);
    last = last && !has_world();
    if (last) {
        put_call(recorder, flight, is_on);
        counters_end(layer);
        objects_end(layer);
    }
    if (!gathers)
        return;
    /* What a later session does is not recorded: all processes write their files now. */
    layer->finalize_ticks = ticks_now();
    termination_end(layer, TRACE_END_FINALIZE, NULL);
    finish_all(layer, comm);
    PMPI_Comm_free(&comm);
}

static void abort_mpi(struct recorder *recorder, struct flight *flight, bool is_on)
{
    const uint64_t now = ticks_now();
    if (is_on) {
        recorder_put(recorder, RAW_OPEN, flight->number, now, 0);
        flights_publish_since(flight, FLIGHT_NOTED, now);
    }
    termination_end(recorder->layer, TRACE_END_ABORT, NULL);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

bool control_before(struct recorder *recorder, const QMPIX_Call *call, struct flight *flight,
                    bool is_on)
{
    switch (call->function->number) {
    case MPI_FINALIZE_T:
        finalize(recorder, flight, is_on);
        return true;
    case MPI_SESSION_FINALIZE_T:
        finalize_session(recorder, call, flight, is_on);
        return false;
    case MPI_ABORT_T:
        abort_mpi(recorder, flight, is_on);
        return true;
    default:
        return false;
    }
}

void control_after(struct recorder *recorder, const QMPIX_Call *call, bool has_succeeded,
                   uint64_t ticks)
{
    if (call->function->number == MPI_PCONTROL_T && has_succeeded)
        control(recorder, call, ticks);
}

/* What the tool does at the beginning of MPI is no time of the program. */
static void put_tool_time(struct recorder *recorder, uint64_t from)
{
    struct trace_event event;
    if (!notice_switches(recorder))
        return;
    trace_event_clear(&event, TRACE_FLUSH, from);
    event.bytes = ticks_now() - from;
    recorder_put_event(recorder, &event);
}

void control_end(struct recorder *recorder, const QMPIX_Call *call)
{
    const uint64_t now = ticks_now();
    if (call->function->number == MPI_PCONTROL_T)
        end_control(recorder, call);
    if (!argument_result_is_success(call))
        return;
    switch (call->function->number) {
    case MPI_INIT_T:
    case MPI_INIT_THREAD_T:
        begin_mpi(recorder->layer, MPI_SESSION_NULL);
        put_tool_time(recorder, now);
        break;
    case MPI_SESSION_INIT_T:
        if (open_session(recorder->layer, call))
            put_tool_time(recorder, now);
        break;
    default:
        break;
    }
}
