/* SPDX-License-Identifier: MIT */
/*
 * log: an strace for MPI: one line for each call, with its arguments by name, in words, its result
 * and its time. One observer for the functions that are chosen and for the few that lifecycle.c
 * follows. Here it joins the stack, and sees each call begin and end.
 */
#define _GNU_SOURCE
#include "arguments.h"
#include "filter.h"
#include "generate/build.h"
#include "lengths.h"
#include "lifecycle.h"
#include "line.h"
#include "log_manifest.h"
#include "requests.h"
#include "sites.h"
#include "termination.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <qmpi/clock.h>
#include <qmpi/observer.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct layer *log_layers;
int log_layer_count;
uint64_t log_start;
uint64_t log_start_local;
pid_t log_owner;

/* ---- A call ---------------------------------------------------------------------------------- */

static const char *find_caller(const QMPIX_Call *call)
{
    void *caller = NULL;
    QMPIX_Call_get_caller(call, &caller);
    return sites_find(caller);
}

static struct frame *begin(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    struct frame *frame = frames_take(layer, word, line_left);
    uint64_t ticks = 0;
    if (!frame)
        return NULL;
    if (layer->options.caller)
        frame->caller = find_caller(call);
    arguments_begin(frame, call);
    if (layer->knows_requests)
        requests_save(frame, call);
    frame->has_no_result = call->function->number == MPI_ABORT_T;
    QMPIX_Call_get_entry_time(call, &ticks);
    frame->begin = line_time(ticks);
    frames_begin(frame);
    if (layer->options.enter || frame->has_no_result)
        line_begin(frame);
    return frame;
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    const int error = errno;
    struct thread_level *level = thread_level_enter();
    if (layer->options.chosen[call->function->number] && !atomic_load(&layer->is_quiet))
        word->pointer = begin(layer, call, word);
    lifecycle_before(layer, call); /* by now the line has the name of what is freed */
    if (call->function->number == MPI_ABORT_T)
        termination_print("MPI_Abort", word->pointer, true);
    thread_level_leave(level);
    errno = error;
}

static bool has_failed(const QMPIX_Call *call)
{
    const struct shape *shape = shape_of(call->function);
    return shape && shape->has_error && *(const int *)call->result != MPI_SUCCESS;
}

/* Whether the options let the line through, now that it is known how the call ended. */
static bool is_wanted(const struct layer *layer, const QMPIX_Call *call, uint64_t time)
{
    const struct options *options = &layer->options;
    MPI_Count sent = 0, received = 0;
    if (time < options->min_time || (options->errors && !has_failed(call)))
        return false;
    if (!options->min_size && options->max_size == UINT64_MAX)
        return true;
    QMPIX_Call_get_bytes(call, &sent, &received);
    const uint64_t size = (uint64_t)(sent > received ? sent : received);
    return size >= options->min_size && size <= options->max_size;
}

/* What a v-collective's arrays need; the call has shown that the communicator is right. */
static void meet_processes(struct layer *layer, const QMPIX_Call *call)
{
    const struct shape *shape = shape_of(call->function);
    MPI_Comm comm;
    if (shape && shape->is_sized && shape->comm >= 0 && !has_failed(call) &&
        QMPIX_Call_get_argument(call, shape->comm, &comm) == MPI_SUCCESS)
        objects_meet(&layer->objects, comm);
}

/* In nanoseconds. */
static uint64_t duration_of(const QMPIX_Call *call)
{
    uint64_t begin = 0, end = 0, time = 0;
    QMPIX_Call_get_time(call, &begin, &end);
    QMPIX_Clock_to_nanoseconds(end > begin ? end - begin : 0, &time);
    return time;
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct layer *layer = call->observer->data;
    struct frame *frame = word->pointer;
    const int error = errno;
    struct thread_level *level = thread_level_enter();
    lifecycle_after(layer, call);
    if (frame) {
        const uint64_t time = duration_of(call);
        if (!layer->judges || is_wanted(layer, call, time)) {
            meet_processes(layer, call);
            line_finish(frame, call, time);
        }
        if (layer->knows_requests)
            requests_follow(frame, call);
        frames_end(frame);
    }
    if (lifecycle_ends(call->function))
        sink_flush(&layer->sink);
    thread_level_leave(level);
    errno = error;
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

/* While layers are switched, names may be given and handles freed unseen. */
static void stack_changed(int tool_id)
{
    struct thread_level *level = thread_level_enter();
    for (struct layer *layer = log_layers; layer; layer = layer->next) {
        if (layer->tool_id == tool_id)
            objects_forget_all(&layer->objects);
    }
    thread_level_leave(level);
}

/* Two layers that write one file would write over each other's lines. */
static bool output_is_taken(const struct layer *layer)
{
    bool taken = false;
    const char *mine = layer->sink.path;
    for (const struct layer *other = log_layers; other && mine; other = other->next)
        taken |= other->sink.path && !strcmp(mine, other->sink.path);
    return taken && !tool_file_name_is_special(mine);
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
    const int64_t ahead = localtime_r(&now.tv_sec, &parts) ? parts.tm_gmtoff : 0; /* of UTC */
    log_start_local = (uint64_t)(now.tv_sec + ahead) * 1000000000U + (uint64_t)now.tv_nsec;
}

static bool observe(struct layer *layer)
{
    enum QMPI_Functions_enum functions[MPI_LAST_FUNC];
    QMPIX_Observer observer = {.size = sizeof observer,
                               .before = before,
                               .after = after,
                               .data = layer,
                               .functions = functions,
                               .flags = QMPIX_OBSERVE_TIME | QMPIX_OBSERVE_ENTRY_TIME};
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const enum QMPI_Functions_enum fn = (enum QMPI_Functions_enum)number;
        const QMPIX_Function *function;
        if (QMPIX_Function_describe(fn, &function) == MPI_SUCCESS &&
            (layer->options.chosen[number] || lifecycle_concerns(function)))
            functions[observer.function_count++] = fn;
    }
    return QMPIX_Register_tool_observer(layer->tool_id, &observer) == MPI_SUCCESS;
}

static void init(int tool_id)
{
    struct layer *layer = qmpi_allocate(1, sizeof *layer);
    const int rank = qmpi_launcher_rank();
    layer->tool_id = tool_id;
    if (!log_options_read(tool_id, &layer->options))
        return;
    sink_make(&layer->sink, tool_id, layer->options.output, rank);
    if (output_is_taken(layer)) {
        QMPIX_Tool_fail(tool_id, "another layer of log writes to the same file\n"
                                 "hint: put %t (the number of the layer) into output=");
        return;
    }
    objects_make(&layer->objects);
    layer->judges = log_options_judge(&layer->options);
    layer->knows_requests = requests_are_known(&layer->options);
    atomic_store(&layer->rank, rank < 0 ? 0 : rank);
    /* `qmpi check` only builds the stack. */
    atomic_store(&layer->is_quiet, !choose_rank(&layer->options.ranks, rank < 0 ? 0 : rank) ||
                                       qmpi_getenv("QMPI_CHECK"));
    start_clock();
    frames_start();
    if (layer->options.caller && !qmpi_getenv("QMPI_CHECK"))
        sites_start();
    if (!observe(layer)) {
        QMPIX_Tool_fail(tool_id, "libqmpi rejects the observer of this tool\nhint: use the "
                                 "log.so that is part of this qmpi");
        return;
    }
    QMPIX_Register_stack_changed(tool_id, stack_changed);
    layer->next = log_layers;
    log_layers = layer;
    log_layer_count++;
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = log_options,
    };
    QMPI_Register_tool_name("log", init);
    QMPIX_Register_tool_info("log", &info);
}
