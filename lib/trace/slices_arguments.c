/* SPDX-License-Identifier: MIT */
/* The arguments of calls of slices_parts.h. */
#include "trace/slices_parts.h"

#include <stdlib.h>

const char *const trace_argument_names[ARGUMENTS] = {
    [ARGUMENT_PEER] = "peer",
    [ARGUMENT_TAG] = "tag",
    [ARGUMENT_BYTES] = "bytes",
    [ARGUMENT_COMM] = "communicator",
    [ARGUMENT_RECEIVED] = "received",
    [ARGUMENT_ROOT] = "root",
    [ARGUMENT_SITE] = "site",
    [ARGUMENT_WINDOW] = "window",
    [ARGUMENT_FILE] = "file",
    [ARGUMENT_UNFINISHED] = "unfinished",
    [ARGUMENT_INTERRUPTED] = "interrupted",
    [ARGUMENT_EVENTS] = "events",
    [ARGUMENT_FUNCTION] = "function",
    [ARGUMENT_CREATED] = "created",
    [ARGUMENT_FREED] = "freed",
    [ARGUMENT_CORRELATION] = "correlation_id",
};

uint64_t trace_slices_text(enum text_kind kind, uint32_t index)
{
    return TEXT_FIRST + (uint64_t)index * TEXT_KINDS + kind;
}

static bool is_first(const struct thread_slices *thread, enum trace_argument argument)
{
    const uint32_t bit = UINT32_C(1) << argument;
    const bool is_new = !(*thread->use & bit);
    *thread->use |= bit;
    return is_new;
}

void trace_thread_slices_number(struct thread_slices *thread, enum trace_argument argument,
                                int64_t value)
{
    if (is_first(thread, argument))
        thread->slices->format->number(thread->track, argument, value);
}

void trace_thread_slices_text(struct thread_slices *thread, enum trace_argument argument,
                              uint64_t id, const char *text)
{
    if (is_first(thread, argument))
        thread->slices->format->text(thread->track, argument, id, text);
}

static void annotate_rank(struct thread_slices *thread, enum trace_argument argument, int rank)
{
    if (rank == TRACE_ANY)
        trace_thread_slices_text(thread, argument, TEXT_ANY, "any");
    else if (rank == TRACE_PROC_NULL)
        trace_thread_slices_text(thread, argument, TEXT_NULL, "null");
    else if (rank == TRACE_ROOT_SELF)
        trace_thread_slices_text(thread, argument, TEXT_SELF, "self");
    else if (rank >= 0)
        trace_thread_slices_number(thread, argument, rank);
}

static void annotate_named_comm(struct thread_slices *thread, enum trace_argument argument,
                                uint32_t comm)
{
    char room[TRACE_NAME_SIZE];
    if (comm < thread->slices->process->comm_count)
        trace_thread_slices_text(thread, argument, trace_slices_text(TEXT_COMM, comm),
                                 trace_comm_name(thread->slices->process, comm, room));
}

void trace_thread_slices_comm(struct thread_slices *thread, uint32_t comm)
{
    annotate_named_comm(thread, ARGUMENT_COMM, comm);
}

static void annotate_object(struct thread_slices *thread, const struct trace_event *event,
                            bool is_window)
{
    char room[TRACE_NAME_SIZE];
    if (event->object != TRACE_NONE)
        trace_thread_slices_text(
            thread, is_window ? ARGUMENT_WINDOW : ARGUMENT_FILE,
            trace_slices_text(is_window ? TEXT_WINDOW : TEXT_FILE, event->object),
            trace_object_name(thread->slices->process, event, room));
}

void trace_thread_slices_site(struct thread_slices *thread, uint32_t site)
{
    const struct trace_slices *slices = thread->slices;
    const uint64_t id = trace_slices_text(TEXT_SITE, site);
    if (site >= slices->process->site_count)
        return;
    char *text = slices->format->has_text(thread->track, id)
                     ? NULL
                     : trace_describe_site(slices->export, slices->process, site);
    trace_thread_slices_text(thread, ARGUMENT_SITE, id, text ? text : "unknown");
    free(text);
}

void trace_thread_slices_message(struct thread_slices *thread, const struct trace_event *event)
{
    annotate_rank(thread, ARGUMENT_PEER, event->peer);
    if (event->tag != TRACE_UNDEFINED) {
        if (event->tag == TRACE_ANY)
            trace_thread_slices_text(thread, ARGUMENT_TAG, TEXT_ANY, "any");
        else
            trace_thread_slices_number(thread, ARGUMENT_TAG, event->tag);
    }
    trace_thread_slices_number(thread, ARGUMENT_BYTES, (int64_t)event->bytes);
    trace_thread_slices_comm(thread, event->comm);
}

void trace_thread_slices_bytes(struct thread_slices *thread, const struct trace_event *event)
{
    if (event->bytes)
        trace_thread_slices_number(thread, ARGUMENT_BYTES, (int64_t)event->bytes);
    if (event->received)
        trace_thread_slices_number(thread, ARGUMENT_RECEIVED, (int64_t)event->received);
}

void trace_thread_slices_detail(struct thread_slices *thread, const struct detail *detail)
{
    const struct trace_event *event = &detail->event;
    switch (event->kind) {
    case TRACE_IRECV_REQUEST:
        trace_thread_slices_message(thread, event);
        break;
    case TRACE_COLLECTIVE_BEGIN:
    case TRACE_ICOLLECTIVE_REQUEST:
        trace_thread_slices_comm(thread, event->comm);
        annotate_rank(thread, ARGUMENT_ROOT, event->root);
        if (detail->message && is_first(thread, ARGUMENT_CORRELATION))
            thread->slices->format->correlation(thread->track, detail->message);
        break;
    case TRACE_COLLECTIVE_END:
        trace_thread_slices_bytes(thread, event);
        break;
    case TRACE_CALL_OBJECT:
        trace_thread_slices_comm(thread, event->comm);
        annotate_object(thread, event, false);
        break;
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
        annotate_object(thread, event, true);
        annotate_rank(thread, ARGUMENT_PEER, event->peer);
        trace_thread_slices_bytes(thread, event);
        break;
    case TRACE_IO:
    case TRACE_FILE_OPEN:
    case TRACE_FILE_CLOSE:
        annotate_object(thread, event, false);
        trace_thread_slices_bytes(thread, event);
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
