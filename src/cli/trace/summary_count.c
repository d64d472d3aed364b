/* SPDX-License-Identifier: MIT */
/* See summary.h. */
#define _GNU_SOURCE
#include "cli/trace/summary.h"

#include "util/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct call {
    uint32_t function;
    int64_t begin;
};

struct calls {
    struct call *all;
    int count;
};

static struct entry *find_entry(struct summary *summary, const struct trace_process *process,
                                uint32_t function)
{
    const char *name = trace_function_name(process, function);
    for (int i = 0; i < summary->entry_count; i++) {
        if (!strcmp(summary->entries[i].name, name))
            return &summary->entries[i];
    }
    summary->entries = qmpi_grow(summary->entries, summary->entry_count, sizeof *summary->entries);
    summary->entries[summary->entry_count] =
        (struct entry){.name = name, .group = trace_function_group(process, function)};
    return &summary->entries[summary->entry_count++];
}

/* The place of the entry of a function. Entries move when one is added. */
static int place_of(struct summary *summary, const struct trace_process *process, uint32_t function,
                    int *entries)
{
    const uint32_t at =
        function < process->function_count ? function : (uint32_t)process->function_count;
    if (entries[at] < 0)
        entries[at] = (int)(find_entry(summary, process, function) - summary->entries);
    return entries[at];
}

static struct entry *entry_of(struct summary *summary, const struct trace_process *process,
                              uint32_t function, int *entries)
{
    const int place = place_of(summary, process, function, entries);
    return &summary->entries[place];
}

static void end_call(struct summary *summary, struct calls *calls, struct entry *entry,
                     int64_t time)
{
    const struct call *call = &calls->all[--calls->count];
    const double duration = (double)(time - call->begin) * 1e-9;
    entry->time += duration;
    entry->longest = fmax(entry->longest, duration);
    if (!calls->count)
        summary->mpi += duration;
}

static void count_data(struct summary *summary, const struct trace_event *event,
                       struct entry *entry)
{
    switch (event->kind) {
    case TRACE_SEND:
    case TRACE_ISEND:
        if (event->peer == TRACE_PROC_NULL)
            break;
        summary->messages++;
        summary->bytes += event->bytes;
        break;
    case TRACE_RECV:
    case TRACE_IRECV:
        break;
    case TRACE_COLLECTIVE_BEGIN:
    case TRACE_ICOLLECTIVE_REQUEST:
        summary->collectives++;
        return;
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
        summary->accesses++;
        break;
    case TRACE_IO:
        summary->files++;
        break;
    case TRACE_COLLECTIVE_END:
    case TRACE_ICOLLECTIVE_COMPLETE:
        break;
    default:
        return;
    }
    if (entry)
        entry->bytes += event->bytes + event->received;
}

static void count_event(struct summary *summary, const struct trace_process *process,
                        const struct trace_event *event, struct calls *calls, int *entries)
{
    summary->events++;
    if (event->location >= process->location_count)
        return;
    struct calls *here = &calls[event->location];
    const struct call *top = here->count ? &here->all[here->count - 1] : NULL;
    if (event->kind == TRACE_ENTER) {
        here->all = qmpi_grow(here->all, here->count, sizeof *here->all);
        here->all[here->count++] = (struct call){event->function, event->time};
        summary->calls++;
        entry_of(summary, process, event->function, entries)->calls++;
    } else if (top && (event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED)) {
        end_call(summary, here, entry_of(summary, process, top->function, entries), event->time);
    } else {
        count_data(summary, event, top ? entry_of(summary, process, top->function, entries) : NULL);
    }
}

bool summary_count(struct summary *summary, uint32_t index)
{
    const struct trace_view *view = summary->view;
    const struct trace_process *process = &view->trace->processes[index];
    const int64_t end = trace_view_end_of(view, index);
    int64_t begin = trace_time(view->trace, process, process->start_ticks);
    struct trace_event event;
    uint64_t message;
    struct trace_view_stream *stream = trace_view_stream_make(view, index);
    struct calls *calls = qmpi_allocate(process->location_count + 1, sizeof *calls);
    int *entries = qmpi_allocate(process->function_count + 1, sizeof *entries);
    for (size_t i = 0; i <= process->function_count; i++)
        entries[i] = -1;
    while (stream && trace_view_stream_next(stream, &event, &message))
        count_event(summary, process, &event, calls, entries);
    for (size_t i = 0; i < process->location_count; i++) {
        while (calls[i].count)
            end_call(summary, &calls[i],
                     entry_of(summary, process, calls[i].all[calls[i].count - 1].function, entries),
                     end);
        free(calls[i].all);
    }
    begin = begin > trace_view_begin(view) ? begin : trace_view_begin(view);
    if (end > begin)
        summary->total += (double)(end - begin) * 1e-9;
    const bool good = stream && !trace_view_stream_failed(stream);
    trace_view_stream_free(stream);
    free(calls);
    free(entries);
    return good;
}
