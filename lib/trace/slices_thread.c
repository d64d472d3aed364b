/* SPDX-License-Identifier: MIT */
/*
 * The slices of the calls of a thread, of slices_parts.h. What a call does is told by events after
 * its begin and before its end: these are held until the slice begins or ends.
 */
#include "trace/slices_parts.h"

#include <stdlib.h>

struct thread_slices *trace_thread_slices_make(struct trace_slices *slices, void *track)
{
    struct thread_slices *thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->slices = slices;
    thread->track = track;
    thread->use = &thread->used_by_instant;
    return thread;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void begin(struct thread_slices *thread, enum trace_track_event type)
{
    thread->slices->format->event(thread->track, type);
}

static void name(struct thread_slices *thread, uint64_t id, const char *text)
{
    thread->slices->format->name(thread->track, id, text);
}

static void category(struct thread_slices *thread, uint64_t id, const char *text)
{
    thread->slices->format->category(thread->track, id, text);
}

/* Times of a track never go back. */
static void write(struct thread_slices *thread, int64_t time)
{
    thread->last = time > thread->last ? time : thread->last;
    thread->slices->format->write(thread->track, thread->last);
}

/* ---- Instants -------------------------------------------------------------------------------- */

static void instant(struct thread_slices *thread, uint64_t id, const char *text,
                    uint64_t category_id, const char *category_text)
{
    thread->use = &thread->used_by_instant;
    *thread->use = 0;
    begin(thread, INSTANT);
    name(thread, id, text);
    category(thread, category_id, category_text);
}

/* One end of a message: arrows lead from instant to instant, as those of slices would begin at the
 * end of a send that lasts longer than its receive. */
static void message_end(struct thread_slices *thread, const struct detail *detail,
                        bool is_annotated)
{
    const bool is_send = trace_is_send(&detail->event);
    const bool has_flow = trace_pairs_have(thread->slices->export->pairs, detail->message);
    if (!has_flow && !is_annotated)
        return;
    instant(thread, is_send ? NAME_SEND : NAME_RECEIVE, is_send ? "send" : "receive",
            CATEGORY_MESSAGE, "message");
    if (is_annotated)
        trace_thread_slices_message(thread, &detail->event);
    if (has_flow)
        thread->slices->format->flow(thread->track, detail->message, !is_send);
    write(thread, detail->event.time);
}

static void other_instant(struct thread_slices *thread, const struct detail *detail)
{
    const struct trace_event *event = &detail->event;
    if (event->kind == TRACE_REQUEST_CANCELLED) {
        instant(thread, NAME_CANCELLED, "cancelled", CATEGORY_MESSAGE, "message");
        write(thread, event->time);
    } else if (event->kind == TRACE_ICOLLECTIVE_COMPLETE) {
        instant(thread, NAME_COMPLETE, "collective complete", CATEGORY_MESSAGE, "message");
        if (event->function < thread->slices->process->function_count)
            trace_thread_slices_text(thread, ARGUMENT_FUNCTION,
                                     trace_slices_text(TEXT_FUNCTION, event->function),
                                     trace_function_name(thread->slices->process, event->function));
        trace_thread_slices_comm(thread, event->comm);
        trace_thread_slices_bytes(thread, event);
        write(thread, event->time);
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static uint32_t *use_at(struct thread_slices *thread, uint64_t depth)
{
    return &thread->used[depth % (sizeof thread->used / sizeof *thread->used)];
}

/* Whether there is one message, which can be told as arguments of the slice at a depth: it has none
 * yet. Of several ones, each has its own instant. */
static bool is_single(struct thread_slices *thread, uint64_t depth)
{
    size_t count = 0;
    for (size_t i = 0; i < thread->details.count; i++)
        count += trace_is_send(&thread->details.all[i].event) ||
                 trace_is_receive(&thread->details.all[i].event);
    return count == 1 && !(*use_at(thread, depth) & 1u << ARGUMENT_PEER);
}

static void annotate_details(struct thread_slices *thread, bool with_message)
{
    for (size_t i = 0; i < thread->details.count; i++) {
        const struct detail *detail = &thread->details.all[i];
        if (!trace_is_send(&detail->event) && !trace_is_receive(&detail->event))
            trace_thread_slices_detail(thread, detail);
        else if (with_message)
            trace_thread_slices_message(thread, &detail->event);
    }
}

static void write_instants(struct thread_slices *thread, bool with_messages)
{
    for (size_t i = 0; i < thread->details.count; i++) {
        const struct detail *detail = &thread->details.all[i];
        if (trace_is_send(&detail->event) || trace_is_receive(&detail->event))
            message_end(thread, detail, with_messages);
        else
            other_instant(thread, detail);
    }
}

/* The begin of a slice, with what is known at that time. */
static void flush_enter(struct thread_slices *thread)
{
    const struct trace_event *enter = &thread->enter;
    if (!thread->has_enter)
        return;
    thread->has_enter = false;
    thread->use = use_at(thread, thread->depth);
    *thread->use = 0;
    const bool single = is_single(thread, thread->depth);
    begin(thread, SLICE_BEGIN);
    name(thread, NAME_FIRST_FUNCTION + (uint64_t)enter->function,
         trace_function_name(thread->slices->process, enter->function));
    const uint32_t group = enter->function < thread->slices->process->function_count
                               ? thread->slices->groups[enter->function]
                               : 0;
    category(thread, CATEGORY_FIRST_GROUP + (uint64_t)group,
             trace_function_group(thread->slices->process, enter->function));
    trace_thread_slices_site(thread, enter->site);
    annotate_details(thread, single);
    write(thread, enter->time);
    write_instants(thread, !single);
    thread->details.count = 0;
    thread->depth++;
}

static void leave(struct thread_slices *thread, const struct trace_event *event)
{
    const bool single = thread->depth && is_single(thread, thread->depth - 1);
    write_instants(thread, !single);
    if (thread->depth) {
        thread->depth--;
        thread->use = use_at(thread, thread->depth);
        begin(thread, SLICE_END);
        annotate_details(thread, single);
        if (event->kind == TRACE_INTERRUPTED)
            trace_thread_slices_number(thread, ARGUMENT_INTERRUPTED, 1);
        write(thread, event->time);
    }
    thread->details.count = 0;
}

/* ---- What is said of the recording ----------------------------------------------------------- */

static void recording(struct thread_slices *thread, const struct trace_event *event)
{
    if (event->kind == TRACE_OFF)
        instant(thread, NAME_OFF, "recording off", CATEGORY_RECORDING, "recording");
    else if (event->kind == TRACE_ON)
        instant(thread, NAME_ON, "recording on", CATEGORY_RECORDING, "recording");
    else
        instant(thread, NAME_DROPPED, "events dropped", CATEGORY_RECORDING, "recording");
    if (event->kind == TRACE_DROPPED)
        trace_thread_slices_number(thread, ARGUMENT_EVENTS, (int64_t)event->bytes);
    write(thread, event->time);
}

static void flush_slice(struct thread_slices *thread, const struct trace_event *event)
{
    begin(thread, SLICE_BEGIN);
    name(thread, NAME_FLUSH, "time in the tool");
    category(thread, CATEGORY_RECORDING, "recording");
    write(thread, event->time);
    begin(thread, SLICE_END);
    write(thread, event->time + (int64_t)((double)event->bytes * thread->slices->process->tick));
}

/* ---- All events ------------------------------------------------------------------------------ */

/* Whether an event is told when a call ends, even if that takes no time. */
static bool is_of_end(const struct trace_event *event)
{
    return trace_is_receive(event) || event->kind == TRACE_COLLECTIVE_END ||
           event->kind == TRACE_ICOLLECTIVE_COMPLETE || event->kind == TRACE_COMM_CREATE;
}

static void hold(struct thread_slices *thread, const struct trace_event *event, uint64_t message)
{
    struct details *details = &thread->details;
    if (thread->has_enter && (event->time != thread->enter.time || is_of_end(event)))
        flush_enter(thread);
    if (details->count == details->room) {
        const size_t room = details->room ? 2 * details->room : 4;
        struct detail *larger = realloc(details->all, room * sizeof *larger);
        if (!larger) {
            thread->slices->failed = true;
            return;
        }
        details->all = larger;
        details->room = room;
    }
    details->all[details->count++] = (struct detail){*event, message};
}

void trace_thread_slices_add(struct thread_slices *thread, const struct trace_event *event,
                             uint64_t message)
{
    switch (event->kind) {
    case TRACE_ENTER:
        flush_enter(thread);
        write_instants(thread, true); /* of a call in which another one begins */
        thread->details.count = 0;
        thread->enter = *event;
        thread->has_enter = true;
        break;
    case TRACE_LEAVE:
    case TRACE_INTERRUPTED:
        flush_enter(thread);
        leave(thread, event);
        break;
    case TRACE_OFF:
    case TRACE_ON:
    case TRACE_DROPPED:
        flush_enter(thread);
        recording(thread, event);
        break;
    case TRACE_FLUSH:
        flush_enter(thread);
        flush_slice(thread, event);
        break;
    case TRACE_ISEND_COMPLETE:
    case TRACE_REQUEST_TEST:
    case TRACE_REQUEST_FREED:
    case TRACE_RMA_COMPLETE:
    case TRACE_IO_REQUEST:
        break;
    default:
        hold(thread, event, message);
        break;
    }
}

void trace_thread_slices_end(struct thread_slices *thread, int64_t time)
{
    char room[TRACE_NAME_SIZE];
    if (!thread)
        return;
    flush_enter(thread);
    write_instants(thread, true);
    while (thread->depth) {
        thread->depth--;
        thread->use = use_at(thread, thread->depth);
        begin(thread, SLICE_END);
        trace_thread_slices_text(thread, ARGUMENT_UNFINISHED, TEXT_UNFINISHED,
                                 trace_end_name(thread->slices->process, room));
        write(thread, time);
    }
    thread->slices->format->close(thread->track);
    free(thread->details.all);
    free(thread);
}
