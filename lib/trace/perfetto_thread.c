/* SPDX-License-Identifier: MIT */
/*
 * The slices of the calls of a thread, of perfetto_parts.h. What a call does is told by events
 * after its begin and before its end: these are held until the slice begins or ends.
 */
#include "trace/perfetto_thread.h"

#include <stdlib.h>

struct perfetto_thread *perfetto_thread_make(struct perfetto_output *output, uint32_t process,
                                             uint32_t location)
{
    struct perfetto_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->output = output;
    thread->process = &output->export->view->trace->processes[process];
    thread->use = &thread->used_by_instant;
    perfetto_describe_thread(output, process, location);
    perfetto_start(output, &thread->sequence,
                   perfetto_track(output, process, TRACK_THREAD, location));
    return thread;
}

/* ---- Instants -------------------------------------------------------------------------------- */

static void write(struct perfetto_thread *thread, int64_t time)
{
    perfetto_write(thread->output, &thread->sequence, time);
}

static void instant(struct perfetto_thread *thread, uint64_t name, const char *text,
                    uint64_t category, const char *category_name)
{
    thread->use = &thread->used_by_instant;
    *thread->use = 0;
    perfetto_event(&thread->sequence, INSTANT);
    perfetto_name(&thread->sequence, name, text);
    perfetto_category(&thread->sequence, category, category_name);
}

/* One end of a message: arrows lead from instant to instant, as those of slices would begin at the
 * end of a send that lasts longer than its receive. */
static void message_end(struct perfetto_thread *thread, const struct detail *detail,
                        bool is_annotated)
{
    const bool is_send = trace_is_send(&detail->event);
    const bool has_flow = trace_pairs_have(thread->output->export->pairs, detail->message);
    if (!has_flow && !is_annotated)
        return;
    instant(thread, is_send ? NAME_SEND : NAME_RECEIVE, is_send ? "send" : "receive",
            CATEGORY_MESSAGE, "message");
    if (is_annotated)
        perfetto_thread_annotate_message(thread, &detail->event);
    if (has_flow)
        protobuf_fixed64(&thread->sequence.event,
                         is_send ? EVENT_FLOW_IDS : EVENT_TERMINATING_FLOW_IDS, detail->message);
    write(thread, detail->event.time);
}

static void other_instant(struct perfetto_thread *thread, const struct detail *detail)
{
    const struct trace_event *event = &detail->event;
    if (event->kind == TRACE_REQUEST_CANCELLED) {
        instant(thread, NAME_CANCELLED, "cancelled", CATEGORY_MESSAGE, "message");
        write(thread, event->time);
    } else if (event->kind == TRACE_ICOLLECTIVE_COMPLETE) {
        instant(thread, NAME_COMPLETE, "collective complete", CATEGORY_MESSAGE, "message");
        if (event->function < thread->process->function_count)
            perfetto_thread_annotate_text(thread, ANNOTATION_FUNCTION,
                                          perfetto_thread_text(TEXT_FUNCTION, event->function),
                                          trace_function_name(thread->process, event->function));
        perfetto_thread_annotate_comm(thread, event->comm);
        perfetto_thread_annotate_bytes(thread, event);
        write(thread, event->time);
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static uint32_t *use_at(struct perfetto_thread *thread, uint64_t depth)
{
    return &thread->used[depth % (sizeof thread->used / sizeof *thread->used)];
}

/* Whether there is one message, which can be told as arguments of the slice at a depth: it has none
 * yet. Of several ones, each has its own instant. */
static bool is_single(struct perfetto_thread *thread, uint64_t depth)
{
    size_t count = 0;
    for (size_t i = 0; i < thread->details.count; i++)
        count += trace_is_send(&thread->details.all[i].event) ||
                 trace_is_receive(&thread->details.all[i].event);
    return count == 1 && !(*use_at(thread, depth) & 1u << ANNOTATION_PEER);
}

static void annotate_details(struct perfetto_thread *thread, bool with_message)
{
    for (size_t i = 0; i < thread->details.count; i++) {
        const struct detail *detail = &thread->details.all[i];
        if (!trace_is_send(&detail->event) && !trace_is_receive(&detail->event))
            perfetto_thread_annotate_detail(thread, detail);
        else if (with_message)
            perfetto_thread_annotate_message(thread, &detail->event);
    }
}

static void write_instants(struct perfetto_thread *thread, bool with_messages)
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
static void flush_enter(struct perfetto_thread *thread)
{
    const struct trace_event *enter = &thread->enter;
    if (!thread->has_enter)
        return;
    thread->has_enter = false;
    thread->use = use_at(thread, thread->depth);
    *thread->use = 0;
    const bool single = is_single(thread, thread->depth);
    perfetto_event(&thread->sequence, SLICE_BEGIN);
    perfetto_name(&thread->sequence, NAME_FIRST_FUNCTION + (uint64_t)enter->function,
                  trace_function_name(thread->process, enter->function));
    const uint32_t group = enter->function < thread->process->function_count
                               ? thread->output->groups[enter->function]
                               : 0;
    perfetto_category(&thread->sequence, CATEGORY_FIRST_GROUP + (uint64_t)group,
                      trace_function_group(thread->process, enter->function));
    perfetto_thread_annotate_site(thread, enter->site);
    annotate_details(thread, single);
    write(thread, enter->time);
    write_instants(thread, !single);
    thread->details.count = 0;
    thread->depth++;
}

static void leave(struct perfetto_thread *thread, const struct trace_event *event)
{
    const bool single = thread->depth && is_single(thread, thread->depth - 1);
    write_instants(thread, !single);
    if (thread->depth) {
        thread->depth--;
        thread->use = use_at(thread, thread->depth);
        perfetto_event(&thread->sequence, SLICE_END);
        annotate_details(thread, single);
        if (event->kind == TRACE_INTERRUPTED)
            perfetto_thread_annotate(thread, ANNOTATION_INTERRUPTED, 1);
        write(thread, event->time);
    }
    thread->details.count = 0;
}

/* ---- What is said of the recording ----------------------------------------------------------- */

static void recording(struct perfetto_thread *thread, const struct trace_event *event)
{
    const char *const category = "recording";
    if (event->kind == TRACE_OFF)
        instant(thread, NAME_OFF, "recording off", CATEGORY_RECORDING, category);
    else if (event->kind == TRACE_ON)
        instant(thread, NAME_ON, "recording on", CATEGORY_RECORDING, category);
    else
        instant(thread, NAME_DROPPED, "events dropped", CATEGORY_RECORDING, category);
    if (event->kind == TRACE_DROPPED)
        perfetto_thread_annotate(thread, ANNOTATION_EVENTS, (int64_t)event->bytes);
    write(thread, event->time);
}

static void flush_slice(struct perfetto_thread *thread, const struct trace_event *event)
{
    perfetto_event(&thread->sequence, SLICE_BEGIN);
    perfetto_name(&thread->sequence, NAME_FLUSH, "wait for memory");
    perfetto_category(&thread->sequence, CATEGORY_RECORDING, "recording");
    write(thread, event->time);
    perfetto_event(&thread->sequence, SLICE_END);
    write(thread, event->time + (int64_t)((double)event->bytes * thread->process->tick));
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Whether an event is told when a call ends, even if that takes no time. */
static bool is_of_end(const struct trace_event *event)
{
    return trace_is_receive(event) || event->kind == TRACE_COLLECTIVE_END ||
           event->kind == TRACE_ICOLLECTIVE_COMPLETE || event->kind == TRACE_COMM_CREATE;
}

static void hold(struct perfetto_thread *thread, const struct trace_event *event, uint64_t message)
{
    struct details *details = &thread->details;
    if (thread->has_enter && (event->time != thread->enter.time || is_of_end(event)))
        flush_enter(thread);
    if (details->count == details->room) {
        const size_t room = details->room ? 2 * details->room : 4;
        struct detail *larger = realloc(details->all, room * sizeof *larger);
        if (!larger) {
            thread->output->failed = true;
            return;
        }
        details->all = larger;
        details->room = room;
    }
    details->all[details->count++] = (struct detail){*event, message};
}

void perfetto_thread_add(struct perfetto_thread *thread, const struct trace_event *event,
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

void perfetto_thread_end(struct perfetto_thread *thread, int64_t time)
{
    char room[TRACE_NAME_SIZE];
    if (!thread)
        return;
    flush_enter(thread);
    write_instants(thread, true);
    while (thread->depth) {
        thread->depth--;
        thread->use = use_at(thread, thread->depth);
        perfetto_event(&thread->sequence, SLICE_END);
        perfetto_thread_annotate_text(thread, ANNOTATION_UNFINISHED, TEXT_UNFINISHED,
                                      trace_end_name(thread->process, room));
        write(thread, time);
    }
    perfetto_stop(&thread->sequence);
    free(thread->details.all);
    free(thread);
}
