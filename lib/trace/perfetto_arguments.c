/* SPDX-License-Identifier: MIT */
/* The arguments of calls of perfetto_thread.h. */
#include "trace/perfetto_thread.h"

#include <stdlib.h>

uint64_t perfetto_thread_text(enum text_kind kind, uint32_t index)
{
    return TEXT_FIRST + (uint64_t)index * TEXT_KINDS + kind;
}

static bool is_first(const struct perfetto_thread *thread, enum annotation name)
{
    const uint32_t bit = UINT32_C(1) << name;
    const bool is_new = !(*thread->use & bit);
    *thread->use |= bit;
    return is_new;
}

void perfetto_thread_annotate(struct perfetto_thread *thread, enum annotation name, int64_t value)
{
    if (is_first(thread, name))
        perfetto_annotate(thread->output, &thread->sequence, name, value);
}

void perfetto_thread_annotate_text(struct perfetto_thread *thread, enum annotation name,
                                   uint64_t iid, const char *text)
{
    if (is_first(thread, name))
        perfetto_annotate_text(thread->output, &thread->sequence, name, iid, text);
}

static void annotate_rank(struct perfetto_thread *thread, enum annotation name, int rank)
{
    if (rank == TRACE_ANY)
        perfetto_thread_annotate_text(thread, name, TEXT_ANY, "any");
    else if (rank == TRACE_PROC_NULL)
        perfetto_thread_annotate_text(thread, name, TEXT_NULL, "null");
    else if (rank >= 0)
        perfetto_thread_annotate(thread, name, rank);
}

static void annotate_named_comm(struct perfetto_thread *thread, enum annotation name, uint32_t comm)
{
    char room[TRACE_NAME_SIZE];
    if (comm < thread->process->comm_count)
        perfetto_thread_annotate_text(thread, name, perfetto_thread_text(TEXT_COMM, comm),
                                      trace_comm_name(thread->process, comm, room));
}

void perfetto_thread_annotate_comm(struct perfetto_thread *thread, uint32_t comm)
{
    annotate_named_comm(thread, ANNOTATION_COMM, comm);
}

static void annotate_object(struct perfetto_thread *thread, const struct trace_event *event,
                            bool is_window)
{
    char room[TRACE_NAME_SIZE];
    if (event->object != TRACE_NONE)
        perfetto_thread_annotate_text(
            thread, is_window ? ANNOTATION_WINDOW : ANNOTATION_FILE,
            perfetto_thread_text(is_window ? TEXT_WINDOW : TEXT_FILE, event->object),
            trace_object_name(thread->process, event, room));
}

void perfetto_thread_annotate_site(struct perfetto_thread *thread, uint32_t site)
{
    struct perfetto_sequence *sequence = &thread->sequence;
    const uint64_t iid = perfetto_thread_text(TEXT_SITE, site);
    if (site >= thread->process->site_count)
        return;
    char *text = trace_table_get(&sequence->interned, iid << 8 | INTERNED_STRING)
                     ? NULL
                     : trace_describe_site(thread->output->export, thread->process, site);
    perfetto_thread_annotate_text(thread, ANNOTATION_SITE, iid, text ? text : "unknown");
    free(text);
}

void perfetto_thread_annotate_message(struct perfetto_thread *thread,
                                      const struct trace_event *event)
{
    annotate_rank(thread, ANNOTATION_PEER, event->peer);
    if (event->tag != TRACE_UNDEFINED) {
        if (event->tag == TRACE_ANY)
            perfetto_thread_annotate_text(thread, ANNOTATION_TAG, TEXT_ANY, "any");
        else
            perfetto_thread_annotate(thread, ANNOTATION_TAG, event->tag);
    }
    perfetto_thread_annotate(thread, ANNOTATION_BYTES, (int64_t)event->bytes);
    perfetto_thread_annotate_comm(thread, event->comm);
}

void perfetto_thread_annotate_bytes(struct perfetto_thread *thread, const struct trace_event *event)
{
    if (event->bytes)
        perfetto_thread_annotate(thread, ANNOTATION_BYTES, (int64_t)event->bytes);
    if (event->received)
        perfetto_thread_annotate(thread, ANNOTATION_RECEIVED, (int64_t)event->received);
}

void perfetto_thread_annotate_detail(struct perfetto_thread *thread, const struct detail *detail)
{
    const struct trace_event *event = &detail->event;
    switch (event->kind) {
    case TRACE_IRECV_REQUEST:
        perfetto_thread_annotate_message(thread, event);
        break;
    case TRACE_COLLECTIVE_BEGIN:
    case TRACE_ICOLLECTIVE_REQUEST:
        perfetto_thread_annotate_comm(thread, event->comm);
        annotate_rank(thread, ANNOTATION_ROOT, event->root);
        if (detail->message)
            protobuf_varint(&thread->sequence.event, EVENT_CORRELATION_ID, detail->message);
        break;
    case TRACE_COLLECTIVE_END:
        perfetto_thread_annotate_bytes(thread, event);
        break;
    case TRACE_CALL_OBJECT:
        perfetto_thread_annotate_comm(thread, event->comm);
        annotate_object(thread, event, false);
        break;
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
        annotate_object(thread, event, true);
        annotate_rank(thread, ANNOTATION_PEER, event->peer);
        perfetto_thread_annotate_bytes(thread, event);
        break;
    case TRACE_IO:
    case TRACE_FILE_OPEN:
    case TRACE_FILE_CLOSE:
        annotate_object(thread, event, false);
        perfetto_thread_annotate_bytes(thread, event);
        break;
    case TRACE_WIN_CREATE:
    case TRACE_WIN_DESTROY:
        annotate_object(thread, event, true);
        break;
    case TRACE_COMM_CREATE:
        annotate_named_comm(thread, ANNOTATION_CREATED, event->comm);
        break;
    case TRACE_COMM_DESTROY:
        annotate_named_comm(thread, ANNOTATION_FREED, event->comm);
        break;
    default:
        break;
    }
}
