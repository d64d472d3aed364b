/* SPDX-License-Identifier: MIT */
/*
 * Writes traces for Perfetto: see export.h. Each thread is a track of slices, one for each call,
 * with the arguments of the call. Regions and counters are tracks of their process. A message is a
 * flow between two instants, one at the send and one at the receive. Events that describe a call
 * are recorded between its begin and its end, so they are held until the slice begins or ends.
 */
#define _GNU_SOURCE
#include "tools/trace/export/export.h"

#include "tools/trace/export/track.h"
#include "tools/trace/file/name.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers of names that are not functions, of categories that are not groups, and of texts that are
 * not names of objects. */
enum {
    NAME_SEND = 1,
    NAME_RECEIVE,
    NAME_COMPLETE,
    NAME_CANCELLED,
    NAME_OFF,
    NAME_ON,
    NAME_DROPPED,
    NAME_FLUSH,
    NAME_FIRST_FUNCTION = 16
};
enum { CATEGORY_MESSAGE = 1, CATEGORY_RECORDING, CATEGORY_FIRST_GROUP = 16 };
enum { TEXT_ANY = 1, TEXT_NULL, TEXT_SELF, TEXT_UNFINISHED, TEXT_FIRST = 16 };
enum text_kind { TEXT_COMM, TEXT_SITE, TEXT_WINDOW, TEXT_FILE, TEXT_FUNCTION, TEXT_KINDS = 8 };

struct detail {
    struct trace_event event;
    uint64_t message;
};

struct details {
    struct detail *all;
    size_t count, room;
};

/* A track that does not belong to a thread: slices of one region, or values of one counter. */
struct child {
    struct trace_track *track; /* NULL if the track has not begun */
    uint64_t depth;
};

struct process {
    const struct trace_export *export;
    const struct trace_process *definitions;
    struct trace_track_packets *packets;
    uint32_t index;
    uint32_t *groups; /* [function]: the first function of its group */
    struct thread **threads;
    struct child *regions, *counters;
    bool failed; /* memory was exhausted */
};

/* The slices of the calls of one thread. */
struct thread {
    struct process *process;
    struct trace_track *track;
    int64_t last;             /* time of the last event */
    struct trace_event enter; /* a TRACE_ENTER that is not written yet */
    bool has_enter;
    /* The events that are held: they describe the call in `enter`, or the end of the call in
     * progress. */
    struct details details;
    uint64_t depth;
    uint32_t used[32],
        used_by_instant; /* the arguments that have been written, as bits: for the calls in
                            progress, by depth modulo 32, and for the current instant */
    uint32_t *use;       /* the bits of the event that is being written */
};

/* ---- Arguments ------------------------------------------------------------------------------- */

static uint64_t text_number(enum text_kind kind, uint32_t index)
{
    return TEXT_FIRST + (uint64_t)index * TEXT_KINDS + kind;
}

static bool is_first_use(const struct thread *thread, enum trace_track_argument argument)
{
    const uint32_t bit = UINT32_C(1) << argument;
    const bool is_new = !(*thread->use & bit);
    *thread->use |= bit;
    return is_new;
}

static void annotate_number(struct thread *thread, enum trace_track_argument argument,
                            int64_t value)
{
    if (is_first_use(thread, argument))
        trace_track_add_number(thread->track, argument, value);
}

static void annotate_text(struct thread *thread, enum trace_track_argument argument, uint64_t id,
                          const char *text)
{
    if (is_first_use(thread, argument))
        trace_track_add_text(thread->track, argument, id, text);
}

static void annotate_rank(struct thread *thread, enum trace_track_argument argument, int rank)
{
    if (rank == TRACE_ANY)
        annotate_text(thread, argument, TEXT_ANY, "any");
    else if (rank == TRACE_PROC_NULL)
        annotate_text(thread, argument, TEXT_NULL, "null");
    else if (rank == TRACE_ROOT_SELF)
        annotate_text(thread, argument, TEXT_SELF, "self");
    else if (rank >= 0)
        annotate_number(thread, argument, rank);
}

static void annotate_named_comm(struct thread *thread, enum trace_track_argument argument,
                                uint32_t comm)
{
    char room[TRACE_NAME_SIZE];
    if (comm < thread->process->definitions->comm_count)
        annotate_text(thread, argument, text_number(TEXT_COMM, comm),
                      trace_name_comm(thread->process->definitions, comm, room));
}

static void annotate_comm(struct thread *thread, uint32_t comm)
{
    annotate_named_comm(thread, ARGUMENT_COMM, comm);
}

static void annotate_object(struct thread *thread, const struct trace_event *event, bool is_window)
{
    char room[TRACE_NAME_SIZE];
    if (event->object != TRACE_NONE)
        annotate_text(thread, is_window ? ARGUMENT_WINDOW : ARGUMENT_FILE,
                      text_number(is_window ? TEXT_WINDOW : TEXT_FILE, event->object),
                      trace_name_object(thread->process->definitions, event, room));
}

static void annotate_site(struct thread *thread, uint32_t site)
{
    const struct process *process = thread->process;
    const uint64_t id = text_number(TEXT_SITE, site);
    if (site >= process->definitions->site_count)
        return;
    char *text = trace_track_has_text(thread->track, id)
                     ? NULL
                     : trace_export_site(process->export, process->definitions, site);
    annotate_text(thread, ARGUMENT_SITE, id, text ? text : "unknown");
    free(text);
}

static void annotate_message(struct thread *thread, const struct trace_event *event)
{
    annotate_rank(thread, ARGUMENT_PEER, event->peer);
    if (event->tag != TRACE_UNDEFINED) {
        if (event->tag == TRACE_ANY)
            annotate_text(thread, ARGUMENT_TAG, TEXT_ANY, "any");
        else
            annotate_number(thread, ARGUMENT_TAG, event->tag);
    }
    annotate_number(thread, ARGUMENT_BYTES, (int64_t)event->bytes);
    annotate_comm(thread, event->comm);
}

static void annotate_bytes(struct thread *thread, const struct trace_event *event)
{
    if (event->bytes)
        annotate_number(thread, ARGUMENT_BYTES, (int64_t)event->bytes);
    if (event->received)
        annotate_number(thread, ARGUMENT_RECEIVED, (int64_t)event->received);
}

static void annotate_detail(struct thread *thread, const struct detail *detail)
{
    const struct trace_event *event = &detail->event;
    switch (event->kind) {
    case TRACE_IRECV_REQUEST:
        annotate_message(thread, event);
        break;
    case TRACE_COLLECTIVE_BEGIN:
    case TRACE_ICOLLECTIVE_REQUEST:
        annotate_comm(thread, event->comm);
        annotate_rank(thread, ARGUMENT_ROOT, event->root);
        if (detail->message && is_first_use(thread, ARGUMENT_CORRELATION))
            trace_track_add_correlation(thread->track, detail->message);
        break;
    case TRACE_COLLECTIVE_END:
        annotate_bytes(thread, event);
        break;
    case TRACE_CALL_OBJECT:
        annotate_comm(thread, event->comm);
        annotate_object(thread, event, false);
        break;
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
        annotate_object(thread, event, true);
        annotate_rank(thread, ARGUMENT_PEER, event->peer);
        annotate_bytes(thread, event);
        break;
    case TRACE_IO:
    case TRACE_FILE_OPEN:
    case TRACE_FILE_CLOSE:
        annotate_object(thread, event, false);
        annotate_bytes(thread, event);
        break;
    case TRACE_WIN_CREATE:
    case TRACE_WIN_DESTROY:
        annotate_object(thread, event, true);
        break;
    case TRACE_COMM_CREATE:
        annotate_named_comm(thread, ARGUMENT_CREATED, event->comm);
        break;
    case TRACE_COMM_DESTROY:
        annotate_named_comm(thread, ARGUMENT_FREED, event->comm);
        break;
    default:
        break;
    }
}

/* ---- Threads --------------------------------------------------------------------------------- */

static struct thread *make_thread(struct process *process, struct trace_track *track)
{
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->process = process;
    thread->track = track;
    thread->use = &thread->used_by_instant;
    return thread;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void begin_thread_event(struct thread *thread, enum trace_track_event type)
{
    trace_track_begin_event(thread->track, type);
}

static void add_event_name(struct thread *thread, uint64_t id, const char *text)
{
    trace_track_add_name(thread->track, id, text);
}

static void add_event_category(struct thread *thread, uint64_t id, const char *text)
{
    trace_track_add_category(thread->track, id, text);
}

/* Writes an event. Times on a track never decrease. */
static void write_thread_event(struct thread *thread, int64_t time)
{
    thread->last = time > thread->last ? time : thread->last;
    trace_track_write_event(thread->track, thread->last);
}

/* ---- Instants -------------------------------------------------------------------------------- */

static void begin_instant(struct thread *thread, uint64_t id, const char *text,
                          uint64_t category_id, const char *category_text)
{
    thread->use = &thread->used_by_instant;
    *thread->use = 0;
    begin_thread_event(thread, INSTANT);
    add_event_name(thread, id, text);
    add_event_category(thread, category_id, category_text);
}

/* Arrows lead from instant to instant, because an arrow between slices would begin at the end of
 * the send, which may be later than the receive. */
static void write_message_end(struct thread *thread, const struct detail *detail, bool is_annotated)
{
    const bool is_send = trace_messages_is_send(&detail->event);
    const bool has_flow = trace_pairs_have(thread->process->export->pairs, detail->message);
    if (!has_flow && !is_annotated)
        return;
    begin_instant(thread, is_send ? NAME_SEND : NAME_RECEIVE, is_send ? "send" : "receive",
                  CATEGORY_MESSAGE, "message");
    if (is_annotated)
        annotate_message(thread, &detail->event);
    if (has_flow)
        trace_track_add_flow(thread->track, detail->message, !is_send);
    write_thread_event(thread, detail->event.time);
}

static void write_other_instant(struct thread *thread, const struct detail *detail)
{
    const struct trace_event *event = &detail->event;
    if (event->kind == TRACE_REQUEST_CANCELLED) {
        begin_instant(thread, NAME_CANCELLED, "cancelled", CATEGORY_MESSAGE, "message");
        write_thread_event(thread, event->time);
    } else if (event->kind == TRACE_ICOLLECTIVE_COMPLETE) {
        begin_instant(thread, NAME_COMPLETE, "collective complete", CATEGORY_MESSAGE, "message");
        if (event->function < thread->process->definitions->function_count)
            annotate_text(thread, ARGUMENT_FUNCTION, text_number(TEXT_FUNCTION, event->function),
                          trace_name_function(thread->process->definitions, event->function));
        annotate_comm(thread, event->comm);
        annotate_bytes(thread, event);
        write_thread_event(thread, event->time);
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static uint32_t *use_at(struct thread *thread, uint64_t depth)
{
    return &thread->used[depth % (sizeof thread->used / sizeof *thread->used)];
}

/* Returns whether the held events contain a single message, and the slice at this depth has no
 * arguments of a message yet. The data of the message then become arguments of the slice. If there
 * are several messages, each becomes an instant. */
static bool has_single_message(struct thread *thread, uint64_t depth)
{
    size_t count = 0;
    for (size_t i = 0; i < thread->details.count; i++)
        count += trace_messages_is_send(&thread->details.all[i].event) ||
                 trace_messages_is_receive(&thread->details.all[i].event);
    return count == 1 && !(*use_at(thread, depth) & 1u << ARGUMENT_PEER);
}

static void annotate_details(struct thread *thread, bool with_message)
{
    for (size_t i = 0; i < thread->details.count; i++) {
        const struct detail *detail = &thread->details.all[i];
        if (!trace_messages_is_send(&detail->event) && !trace_messages_is_receive(&detail->event))
            annotate_detail(thread, detail);
        else if (with_message)
            annotate_message(thread, &detail->event);
    }
}

static void write_instants(struct thread *thread, bool with_messages)
{
    for (size_t i = 0; i < thread->details.count; i++) {
        const struct detail *detail = &thread->details.all[i];
        if (trace_messages_is_send(&detail->event) || trace_messages_is_receive(&detail->event))
            write_message_end(thread, detail, with_messages);
        else
            write_other_instant(thread, detail);
    }
}

/* Writes the begin of a slice, with the data of the events that have been held so far. */
static void begin_call_slice(struct thread *thread)
{
    const struct trace_event *enter = &thread->enter;
    if (!thread->has_enter)
        return;
    thread->has_enter = false;
    thread->use = use_at(thread, thread->depth);
    *thread->use = 0;
    const bool single = has_single_message(thread, thread->depth);
    begin_thread_event(thread, SLICE_BEGIN);
    add_event_name(thread, NAME_FIRST_FUNCTION + (uint64_t)enter->function,
                   trace_name_function(thread->process->definitions, enter->function));
    const uint32_t group = enter->function < thread->process->definitions->function_count
                               ? thread->process->groups[enter->function]
                               : 0;
    add_event_category(thread, CATEGORY_FIRST_GROUP + (uint64_t)group,
                       trace_name_group(thread->process->definitions, enter->function));
    annotate_site(thread, enter->site);
    annotate_details(thread, single);
    write_thread_event(thread, enter->time);
    write_instants(thread, !single);
    thread->details.count = 0;
    thread->depth++;
}

static void end_call_slice(struct thread *thread, const struct trace_event *event)
{
    const bool single = thread->depth && has_single_message(thread, thread->depth - 1);
    write_instants(thread, !single);
    if (thread->depth) {
        thread->depth--;
        thread->use = use_at(thread, thread->depth);
        begin_thread_event(thread, SLICE_END);
        annotate_details(thread, single);
        if (event->kind == TRACE_INTERRUPTED)
            annotate_number(thread, ARGUMENT_INTERRUPTED, 1);
        write_thread_event(thread, event->time);
    }
    thread->details.count = 0;
}

/* ---- Gaps in the recording ------------------------------------------------------------------- */

static void write_recording_instant(struct thread *thread, const struct trace_event *event)
{
    if (event->kind == TRACE_OFF)
        begin_instant(thread, NAME_OFF, "recording off", CATEGORY_RECORDING, "recording");
    else if (event->kind == TRACE_ON)
        begin_instant(thread, NAME_ON, "recording on", CATEGORY_RECORDING, "recording");
    else
        begin_instant(thread, NAME_DROPPED, "events dropped", CATEGORY_RECORDING, "recording");
    if (event->kind == TRACE_DROPPED)
        annotate_number(thread, ARGUMENT_EVENTS, (int64_t)event->bytes);
    write_thread_event(thread, event->time);
}

static void write_flush_slice(struct thread *thread, const struct trace_event *event)
{
    begin_thread_event(thread, SLICE_BEGIN);
    add_event_name(thread, NAME_FLUSH, "time in the tool");
    add_event_category(thread, CATEGORY_RECORDING, "recording");
    write_thread_event(thread, event->time);
    begin_thread_event(thread, SLICE_END);
    const double length = (double)event->bytes * thread->process->definitions->tick;
    write_thread_event(thread, trace_clock_add(event->time, trace_clock_whole(length)));
}

/* ---- All events ------------------------------------------------------------------------------ */

/* Returns whether an event belongs to the end of a call, even if the call begins and ends at the
 * same time. */
static bool is_of_end(const struct trace_event *event)
{
    return trace_messages_is_receive(event) || event->kind == TRACE_COLLECTIVE_END ||
           event->kind == TRACE_ICOLLECTIVE_COMPLETE || event->kind == TRACE_COMM_CREATE;
}

static void hold_detail(struct thread *thread, const struct trace_event *event, uint64_t message)
{
    struct details *details = &thread->details;
    if (thread->has_enter && (event->time != thread->enter.time || is_of_end(event)))
        begin_call_slice(thread);
    if (!QMPI_MEMORY_RESERVE(details->all, details->room, details->count + 1)) {
        thread->process->failed = true;
        return;
    }
    details->all[details->count++] = (struct detail){*event, message};
}

static void add_thread_event(struct thread *thread, const struct trace_event *event,
                             uint64_t message)
{
    switch (event->kind) {
    case TRACE_ENTER:
        begin_call_slice(thread);
        write_instants(thread, true); /* these belong to the call that contains the nested call */
        thread->details.count = 0;
        thread->enter = *event;
        thread->has_enter = true;
        break;
    case TRACE_LEAVE:
    case TRACE_INTERRUPTED:
        begin_call_slice(thread);
        end_call_slice(thread, event);
        break;
    case TRACE_OFF:
    case TRACE_ON:
    case TRACE_DROPPED:
        begin_call_slice(thread);
        write_recording_instant(thread, event);
        break;
    case TRACE_FLUSH:
        begin_call_slice(thread);
        write_flush_slice(thread, event);
        break;
    case TRACE_ISEND_COMPLETE:
    case TRACE_REQUEST_TEST:
    case TRACE_REQUEST_FREED:
    case TRACE_RMA_COMPLETE:
    case TRACE_IO_REQUEST:
        break;
    default:
        hold_detail(thread, event, message);
        break;
    }
}

static void end_thread_track(struct thread *thread, int64_t time)
{
    char room[TRACE_NAME_SIZE];
    if (!thread)
        return;
    begin_call_slice(thread);
    write_instants(thread, true);
    while (thread->depth) {
        thread->depth--;
        thread->use = use_at(thread, thread->depth);
        begin_thread_event(thread, SLICE_END);
        annotate_text(thread, ARGUMENT_UNFINISHED, TEXT_UNFINISHED,
                      trace_name_end(thread->process->definitions, room));
        write_thread_event(thread, time);
    }
    trace_track_close(thread->track);
    free(thread->details.all);
    free(thread);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static struct trace_track *open_track(struct process *process, enum trace_track_kind kind,
                                      uint32_t index)
{
    struct trace_track *track = trace_track_open(process->packets, process->index, kind, index);
    process->failed |= !track;
    return track;
}

static struct child *find_child(struct process *process, uint32_t index, enum trace_track_kind kind)
{
    const bool is_region = kind == TRACK_REGION;
    const struct trace_process *definitions = process->definitions;
    if (index >= (is_region ? definitions->region_count : definitions->counter_count))
        return NULL;
    struct child *child = &(is_region ? process->regions : process->counters)[index];
    if (!child->track)
        child->track = open_track(process, kind, index);
    return child->track ? child : NULL;
}

static void add_region_slice(struct process *process, const struct trace_event *event)
{
    struct child *child = find_child(process, event->object, TRACK_REGION);
    char room[TRACE_NAME_SIZE];
    if (!child || (event->kind == TRACE_REGION_END && !child->depth))
        return;
    if (event->kind == TRACE_REGION_BEGIN) {
        child->depth++;
        trace_track_begin_event(child->track, SLICE_BEGIN);
        trace_track_add_name(child->track, 1, trace_name_object(process->definitions, event, room));
        trace_track_add_category(child->track, 1, "region");
    } else {
        child->depth--;
        trace_track_begin_event(child->track, SLICE_END);
    }
    trace_track_write_event(child->track, event->time);
}

static void add_counter_value(struct process *process, const struct trace_event *event)
{
    struct child *child = find_child(process, event->object, TRACK_COUNTER);
    if (!child)
        return;
    trace_track_begin_event(child->track, COUNTER);
    trace_track_add_value(child->track, event->value);
    trace_track_write_event(child->track, event->time);
}

static struct thread *find_thread(struct process *process, uint32_t location)
{
    struct thread **thread = &process->threads[location];
    if (*thread)
        return *thread;
    struct trace_track *track = open_track(process, TRACK_THREAD, location);
    *thread = track ? make_thread(process, track) : NULL;
    if (track && !*thread) {
        trace_track_close(track);
        process->failed = true;
    }
    return *thread;
}

static void add_process_event(struct process *process, const struct trace_event *event,
                              uint64_t message)
{
    if (event->kind == TRACE_REGION_BEGIN || event->kind == TRACE_REGION_END) {
        add_region_slice(process, event);
    } else if (event->kind == TRACE_COUNTER) {
        add_counter_value(process, event);
    } else if (event->location < process->definitions->location_count) {
        struct thread *thread = find_thread(process, event->location);
        if (thread)
            add_thread_event(thread, event, message);
    }
}

/* Ends all tracks. Calls and regions in progress last until the end of the process. */
static void end_tracks(struct process *process, int64_t time)
{
    const struct trace_process *definitions = process->definitions;
    char room[TRACE_NAME_SIZE];
    for (size_t i = 0; i < definitions->location_count; i++)
        end_thread_track(process->threads[i], time);
    for (size_t i = 0; i < definitions->region_count; i++) {
        struct child *child = &process->regions[i];
        for (; child->depth; child->depth--) {
            trace_track_begin_event(child->track, SLICE_END);
            trace_track_add_text(child->track, ARGUMENT_UNFINISHED, 1,
                                 trace_name_end(definitions, room));
            trace_track_write_event(child->track, time);
        }
        if (child->track)
            trace_track_close(child->track);
    }
    for (size_t i = 0; i < definitions->counter_count; i++) {
        if (process->counters[i].track)
            trace_track_close(process->counters[i].track);
    }
}

/* Returns the first function of the group of each function, or NULL if memory is exhausted. */
static uint32_t *find_groups(const struct trace_process *process)
{
    uint32_t *groups = calloc(process->function_count + 1, sizeof *groups);
    for (uint32_t i = 0; groups && i < process->function_count; i++) {
        while (groups[i] < i &&
               strcmp(trace_name_group(process, groups[i]), trace_name_group(process, i)) != 0)
            groups[i]++;
    }
    return groups;
}

static bool start_process_tracks(struct process *process)
{
    const struct trace_process *definitions = process->definitions;
    process->threads = calloc(definitions->location_count + 1, sizeof(struct thread *));
    process->regions = calloc(definitions->region_count + 1, sizeof *process->regions);
    process->counters = calloc(definitions->counter_count + 1, sizeof *process->counters);
    process->groups = find_groups(definitions);
    return process->threads && process->regions && process->counters && process->groups;
}

static void free_process_tracks(struct process *process)
{
    free(process->groups);
    free(process->threads);
    free(process->regions);
    free(process->counters);
}

static void add_events(struct process *process, FILE *stream)
{
    const struct trace_view *view = process->export->view;
    struct trace_view_stream *events = trace_view_stream_make(view, process->index);
    struct trace_event event;
    uint64_t message;
    process->failed |= !events;
    while (events && !ferror(stream) && trace_view_stream_next(events, &event, &message))
        add_process_event(process, &event, message);
    process->failed |= events && trace_view_stream_failed(events);
    trace_view_stream_free(events);
    end_tracks(process, trace_view_end_of(view, process->index));
}

bool trace_export_perfetto(FILE *stream, const struct trace_export *export)
{
    const struct trace *trace = export->view->trace;
    struct trace_track_packets packets = {.stream = stream, .export = export, .base = trace->base};
    bool good = true;
    trace_track_begin_file(&packets);
    for (uint32_t i = 0; i < trace->process_count && good && !ferror(stream); i++) {
        if (!trace_view_has(export->view, i))
            continue;
        struct process process = {
            .export = export, .definitions = &trace->processes[i], .packets = &packets, .index = i};
        good = start_process_tracks(&process);
        if (good) {
            trace_track_describe_process(&packets, i);
            add_events(&process, stream);
            good = !process.failed;
        }
        free_process_tracks(&process);
    }
    trace_track_end_file(&packets);
    return good && !packets.failed;
}

/* ---- A file ---------------------------------------------------------------------------------- */

/* Writes the file in the C locale, so that numbers have a decimal point even if the program has set
 * another locale. */
static bool write_in_c_locale(FILE *stream, const struct trace_export *export)
{
    const locale_t ours = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!ours)
        return false;
    const locale_t before = uselocale(ours);
    const bool good = trace_export_perfetto(stream, export);
    uselocale(before);
    freelocale(ours);
    return good;
}

static void set_write_problem(char **problem, const char *target, int reason)
{
    if (asprintf(problem, "cannot write %s: %s\nhint: choose another directory with output=",
                 target, strerror(reason ? reason : EIO)) < 0)
        *problem = NULL;
}

bool trace_export_perfetto_file(const struct trace_export *export, const char *target,
                                char **problem)
{
    char *temporary;
    *problem = NULL;
    if (asprintf(&temporary, "%s.%ld.tmp", target, (long)getpid()) < 0)
        return false;
    struct qmpi_output output;
    int reason = qmpi_output_open(&output, temporary, O_CREAT | O_TRUNC, 0666);
    FILE *stream = reason ? NULL : qmpi_output_stream(&output);
    bool complete = true, good = stream;
    if (stream) {
        complete = write_in_c_locale(stream, export);
        good = complete && !ferror(stream);
        good = fclose(stream) == 0 && good;
        reason = output.error;
        if (good && rename(temporary, target) != 0) {
            good = false;
            reason = errno;
        }
    } else if (!reason) {
        qmpi_output_close(&output);
        reason = ENOMEM;
    }
    const int unread = trace_reader_error(export->view->trace);
    if (unread) {
        if (asprintf(problem,
                     "cannot read the events for %s: %s\nhint: raise the limit on open files",
                     target, strerror(unread)) < 0)
            *problem = NULL;
    } else if (complete && !good) {
        set_write_problem(problem, target, reason);
    }
    if (!good)
        unlink(temporary);
    free(temporary);
    return good;
}
