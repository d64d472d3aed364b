/* SPDX-License-Identifier: MIT */
/*
 * The tool log is an strace for MPI. It prints one line for each call, with the names and values of
 * its arguments, its result and its duration. In each layer, an observer follows the functions that
 * are chosen and the few functions on which the log itself depends. This file adds the tool to the
 * stack and handles the beginning and the end of each call.
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "toolkit/toolkit.h"
#include "tools/log/arguments.h"
#include "tools/log/line.h"
#include "tools/log/shape.h"
#include "tools/log/unfinished.h"
#include "tools/log_manifest.h"
#include "util/util.h"

#include <qmpi/clock.h>
#include <qmpi/observer.h>
#include <qmpi/traits.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Returns the role of a function. Each role is looked up once and stored plus 1. A stored 0 means
 * that it was not looked up yet. */
static QMPIX_Role role_of(const QMPIX_Function *function)
{
    static unsigned char known[MPI_LAST_FUNC];
    unsigned char *place = &known[function->number];
    unsigned char role = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (!role) {
        QMPIX_Traits traits = {.size = sizeof traits};
        QMPIX_Function_get_traits(function, &traits);
        role = (unsigned char)(traits.role + 1);
        __atomic_store_n(place, role, __ATOMIC_RELAXED);
    }
    return (QMPIX_Role)(role - 1);
}

/* Returns whether the log observes a function regardless of the option functions=, because the call
 * begins or ends MPI, names an object, frees a handle, or controls the log. */
static bool is_needed(const QMPIX_Function *function)
{
    switch (role_of(function)) {
    case QMPIX_ROLE_INIT:
    case QMPIX_ROLE_SESSION_INIT:
    case QMPIX_ROLE_FINALIZE:
    case QMPIX_ROLE_SESSION_FINALIZE:
    case QMPIX_ROLE_ABORT:
    case QMPIX_ROLE_COMM_NAME:
    case QMPIX_ROLE_TYPE_NAME:
    case QMPIX_ROLE_WIN_NAME:
    case QMPIX_ROLE_FILE_OPEN:
    case QMPIX_ROLE_COMM_FREE:
    case QMPIX_ROLE_TYPE_FREE:
    case QMPIX_ROLE_WIN_FREE:
    case QMPIX_ROLE_FILE_CLOSE:
    case QMPIX_ROLE_REQUEST_FREE:
    case QMPIX_ROLE_PCONTROL:
        return true;
    default:
        return false;
    }
}

/* Returns whether a function ends MPI or a session. The log must have written its lines to the file
 * when such a call returns. */
static bool ends_mpi(const QMPIX_Function *function)
{
    const QMPIX_Role role = role_of(function);
    return role == QMPIX_ROLE_FINALIZE || role == QMPIX_ROLE_SESSION_FINALIZE;
}

/* ---- The beginning and end of MPI ------------------------------------------------------------ */

static void set_rank(struct layer *layer, int rank)
{
    atomic_store(&layer->rank, rank);
    atomic_store(&layer->is_quiet, !qmpi_value_set_has(&layer->options.ranks, (uint64_t)rank));
}

static void begin_log(struct layer *layer, bool has_world)
{
    int rank = 0;
    atomic_store(&layer->ended, false);
    atomic_store(&layer->begun, true);
    sink_begin(&layer->sink);
    unfinished_watch_signals(); /* MPI may have changed signal handlers. */
    if (has_world) {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        set_rank(layer, rank);
        objects_meet(&layer->objects, MPI_COMM_WORLD);
        objects_meet(&layer->objects, MPI_COMM_SELF);
    }
    line_set_phase(layer, PHASE_MPI);
}

static void end_mpi(struct layer *layer)
{
    unfinished_search_stop(layer);
    atomic_store(&layer->ended, true);
    sink_set_phase(&layer->sink, PHASE_OVER, NULL);
    unfinished_unwatch_signals();
}

static void end_session(struct layer *layer)
{
    if (atomic_fetch_sub(&layer->sessions, 1) == 1 && !tool_world_is_open())
        end_mpi(layer);
}

/* ---- Calls that the log needs ---------------------------------------------------------------- */

static void forget_argument(struct layer *layer, const QMPIX_Call *call)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[0];
    MPI_Comm handle;
    if (QMPIX_Call_get_elements(call, 0, 0, 1, &handle) == MPI_SUCCESS)
        objects_forget(&layer->objects, parameter->kind, &handle, sizeof handle);
}

static void pause_or_resume(struct layer *layer, const QMPIX_Call *call)
{
    int level;
    if (QMPIX_Call_get_argument(call, 0, &level) == MPI_SUCCESS && (level == 0 || level == 1))
        atomic_store(&layer->is_paused, level == 0);
}

/* Returns whether calls of a function are printed now. */
static bool is_shown(struct layer *layer, enum QMPI_Functions_enum number)
{
    return layer->options.chosen[number] && !atomic_load(&layer->is_quiet) &&
           (!atomic_load(&layer->is_paused) || number == MPI_PCONTROL_T);
}

static void follow_before(struct layer *layer, const QMPIX_Call *call)
{
    switch (role_of(call->function)) {
    case QMPIX_ROLE_INIT:
    case QMPIX_ROLE_SESSION_INIT:
        unfinished_watch_signals();
        unfinished_search_start(layer);
        break;
    case QMPIX_ROLE_COMM_FREE:
    case QMPIX_ROLE_TYPE_FREE:
    case QMPIX_ROLE_WIN_FREE:
    case QMPIX_ROLE_FILE_CLOSE:
    case QMPIX_ROLE_REQUEST_FREE:
        forget_argument(layer, call);
        break;
    case QMPIX_ROLE_PCONTROL:
        pause_or_resume(layer, call);
        break;
    default:
        break;
    }
}

static void name_opened_file(struct layer *layer, const QMPIX_Call *call)
{
    enum { NAME = 1, FILE_HANDLE = 4 };
    MPI_File file;
    if (QMPIX_Call_get_elements(call, FILE_HANDLE, 0, 1, &file) == MPI_SUCCESS)
        objects_name(&layer->objects, QMPIX_KIND_FILE, &file, sizeof file,
                     *(const char *const *)call->arguments[NAME]);
}

static void follow_after(struct layer *layer, const QMPIX_Call *call)
{
    const QMPIX_Parameter *parameters = call->function->parameters;
    MPI_Comm handle; /* any kind of handle */
    if (is_needed(call->function) && *(const int *)call->result != MPI_SUCCESS)
        return;
    switch (role_of(call->function)) {
    case QMPIX_ROLE_INIT:
        begin_log(layer, true);
        break;
    case QMPIX_ROLE_SESSION_INIT:
        atomic_fetch_add(&layer->sessions, 1);
        if (!atomic_load(&layer->begun) || atomic_load(&layer->ended))
            begin_log(layer, false);
        break;
    case QMPIX_ROLE_FINALIZE:
        if (!atomic_load(&layer->sessions))
            end_mpi(layer);
        break;
    case QMPIX_ROLE_SESSION_FINALIZE:
        end_session(layer);
        break;
    case QMPIX_ROLE_COMM_NAME:
    case QMPIX_ROLE_TYPE_NAME:
    case QMPIX_ROLE_WIN_NAME:
        QMPIX_Call_get_argument(call, 0, &handle);
        objects_name(&layer->objects, parameters[0].kind, &handle, sizeof handle,
                     *(const char *const *)call->arguments[1]);
        break;
    case QMPIX_ROLE_FILE_OPEN:
        name_opened_file(layer, call);
        break;
    default:
        break;
    }
}

/* ---- A call ---------------------------------------------------------------------------------- */

static struct frame *begin_frame(struct layer *layer, const QMPIX_Call *call,
                                 const QMPIX_Word *word)
{
    struct frame *frame = frames_take(layer, word, line_left);
    uint64_t ticks = 0;
    if (!frame)
        return NULL;
    if (layer->options.caller) {
        void *caller = NULL;
        QMPIX_Call_get_caller(call, &caller);
        frame->caller = line_find_caller(caller);
    }
    arguments_begin(frame, call);
    if (layer->knows_requests)
        arguments_save_requests(frame, call);
    frame->has_no_result = call->function->number == MPI_ABORT_T;
    QMPIX_Call_get_entry_time(call, &ticks);
    frame->begin = line_time(ticks);
    frames_begin(frame);
    line_open(frame);
    if (layer->options.enter || frame->has_no_result)
        line_begin(frame);
    return frame;
}

static void log_before_call(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    const int error = errno;
    struct thread_level *level = thread_level_enter();
    if (is_shown(layer, call->function->number))
        word->pointer = begin_frame(layer, call, word);
    /* The line already has the name of the object that the call frees, so the object can be
     * forgotten now. */
    follow_before(layer, call);
    if (call->function->number == MPI_ABORT_T)
        unfinished_print("MPI_Abort", word->pointer, true);
    thread_level_leave(level);
    errno = error;
}

static bool has_failed(const QMPIX_Call *call)
{
    const struct shape *shape = shape_of(call->function);
    return shape && shape->has_error && *(const int *)call->result != MPI_SUCCESS;
}

/* Returns whether the options allow the line. The call must have ended. */
static bool is_line_wanted(const struct layer *layer, const QMPIX_Call *call, uint64_t time)
{
    const struct layer_options *options = &layer->options;
    MPI_Count sent = 0, received = 0;
    if (time < options->min_time || (options->errors && !has_failed(call)))
        return false;
    if (!options->min_size && options->max_size == UINT64_MAX)
        return true;
    QMPIX_Call_get_bytes(call, &sent, &received);
    const uint64_t size = (uint64_t)(sent > received ? sent : received);
    return size >= options->min_size && size <= options->max_size;
}

/* Queries the numbers of processes that determine the lengths of arrays, such as those of
 * MPI_Gatherv. The communicator is valid, because the call has succeeded. */
static void meet_processes(struct layer *layer, const QMPIX_Call *call)
{
    const struct shape *shape = shape_of(call->function);
    MPI_Comm comm;
    if (shape && shape->is_sized && shape->comm >= 0 && !has_failed(call) &&
        QMPIX_Call_get_argument(call, shape->comm, &comm) == MPI_SUCCESS)
        objects_meet(&layer->objects, comm);
}

/* Returns the duration of a call in nanoseconds. */
static uint64_t duration_of(const QMPIX_Call *call)
{
    uint64_t begin = 0, end = 0, time = 0;
    QMPIX_Call_get_time(call, &begin, &end);
    QMPIX_Clock_to_nanoseconds(end > begin ? end - begin : 0, &time);
    return time;
}

static void log_after_call(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    const int error = errno;
    struct thread_level *level = thread_level_enter();
    struct frame *frame = frames_find(word);
    follow_after(layer, call);
    if (frame) {
        const uint64_t time = duration_of(call);
        if (!layer->judges || is_line_wanted(layer, call, time)) {
            meet_processes(layer, call);
            line_finish(frame, call, time);
        }
        if (layer->knows_requests)
            arguments_follow_requests(frame, call);
        frames_end(frame);
    }
    if (ends_mpi(call->function))
        sink_flush(&layer->sink);
    thread_level_leave(level);
    errno = error;
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

/* Called after layers were switched on or off. While this layer was off, the program may have named
 * objects or freed handles, which the log did not observe. */
static void stack_changed(int tool_id)
{
    struct thread_level *level = thread_level_enter();
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->tool_id == tool_id)
            objects_forget_all(&layer->objects);
    }
    thread_level_leave(level);
}

static void library_closed(int tool_id, const char *library, const void *begin, const void *end)
{
    (void)tool_id;
    (void)library;
    line_forget_callers(begin, end);
}

/* Returns whether another layer uses the same file. Two layers would overwrite each other's lines,
 * except in a device or FIFO. */
static bool output_is_taken(const struct layer *layer)
{
    bool taken = false;
    const char *mine = layer->sink.path;
    for (const struct layer *other = layer_list; other && mine; other = other->next)
        taken |= other->sink.path && !strcmp(mine, other->sink.path);
    return taken && !tool_output_name_is_special(mine);
}

static void start_clock(void)
{
    struct timespec now;
    struct tm parts;
    if (log_start)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    QMPIX_Clock_get_time(&log_start);
    log_owner = getpid();
    const int64_t ahead = localtime_r(&now.tv_sec, &parts) ? parts.tm_gmtoff : 0; /* offset from UTC
                                                                                     in seconds */
    log_start_local = (uint64_t)(now.tv_sec + ahead) * 1000000000U + (uint64_t)now.tv_nsec;
}

static bool register_log_observer(struct layer *layer)
{
    enum QMPI_Functions_enum functions[MPI_LAST_FUNC];
    QMPIX_Observer observer = {.size = sizeof observer,
                               .before = log_before_call,
                               .after = log_after_call,
                               .data = layer,
                               .functions = functions,
                               .flags = QMPIX_OBSERVE_TIME | QMPIX_OBSERVE_ENTRY_TIME};
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const enum QMPI_Functions_enum fn = (enum QMPI_Functions_enum)number;
        const QMPIX_Function *function;
        if (QMPIX_Function_describe(fn, &function) == MPI_SUCCESS &&
            (layer->options.chosen[number] || is_needed(function)))
            functions[observer.function_count++] = fn;
    }
    return QMPIX_Register_tool_observer(layer->tool_id, &observer) == MPI_SUCCESS;
}

static void init_log_layer(int tool_id)
{
    struct layer *layer = qmpi_allocate(1, sizeof *layer);
    const int rank = qmpi_launcher_rank();
    layer->tool_id = tool_id;
    if (!layer_options_read(tool_id, &layer->options))
        return;
    sink_make(&layer->sink, tool_id, layer->options.output, rank);
    if (output_is_taken(layer)) {
        QMPIX_Tool_fail(tool_id, "another layer of log writes to the same file\n"
                                 "hint: put %t (the number of the layer) into output=");
        return;
    }
    if (!objects_make(&layer->objects)) {
        QMPIX_Tool_fail(tool_id, "out of memory");
        return;
    }
    layer->judges = layer->options.errors || layer->options.min_time || layer->options.min_size ||
                    layer->options.max_size != UINT64_MAX;
    layer->knows_requests = arguments_know_requests(&layer->options);
    atomic_store(&layer->rank, rank < 0 ? 0 : rank);
    /* The command `qmpi check` only builds the stack, so nothing is printed. */
    atomic_store(&layer->is_quiet,
                 !qmpi_value_set_has(&layer->options.ranks, rank < 0 ? 0 : (uint64_t)rank) ||
                     qmpi_getenv("QMPI_CHECK"));
    start_clock();
    line_set_phase(layer, PHASE_BEFORE);
    frames_start();
    if (layer->options.caller && !qmpi_getenv("QMPI_CHECK")) {
        line_start_callers();
        QMPIX_Register_library_closed(tool_id, library_closed);
    }
    if (!register_log_observer(layer)) {
        QMPIX_Tool_fail(tool_id, "libqmpi rejects the observer of this tool\nhint: use the "
                                 "log.so that is part of this qmpi");
        return;
    }
    QMPIX_Register_stack_changed(tool_id, stack_changed);
    layer->next = layer_list;
    layer_list = layer;
    log_layer_count++;
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = layer_known_options,
    };
    QMPI_Register_tool_name("log", init_log_layer);
    QMPIX_Register_tool_info("log", &info);
}
