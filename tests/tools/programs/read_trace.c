/* SPDX-License-Identifier: MIT */
/* Prints the contents of a trace as lines for tests: the warnings of the reader, the processes,
 * their definitions, and the events of each location (a thread), in order. */
#include "tools/trace/export/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kinds[TRACE_KINDS] = {"enter",
                                               "leave",
                                               "send",
                                               "recv",
                                               "isend",
                                               "isend_complete",
                                               "irecv_request",
                                               "irecv",
                                               "request_test",
                                               "request_cancelled",
                                               "request_freed",
                                               "collective_begin",
                                               "collective_end",
                                               "icollective_request",
                                               "icollective_complete",
                                               "rma_put",
                                               "rma_get",
                                               "rma_atomic",
                                               "rma_complete",
                                               "io_request",
                                               "io",
                                               "comm_create",
                                               "comm_destroy",
                                               "win_create",
                                               "win_destroy",
                                               "file_open",
                                               "file_close",
                                               "region_begin",
                                               "region_end",
                                               "counter",
                                               "off",
                                               "on",
                                               "dropped",
                                               "flush",
                                               "interrupted",
                                               "call_object"};

static void print_number(const char *name, int64_t value)
{
    printf(" %s=%" PRId64, name, value);
}

static void print_event(const struct trace_process *process, const struct trace_event *event)
{
    printf("event rank=%d location=%u ticks=%" PRIu64 " kind=%s", process->rank, event->location,
           event->ticks, kinds[event->kind]);
    if (event->function != TRACE_NONE)
        printf(" function=%s", process->functions[event->function].name);
    if (event->site != TRACE_NONE)
        print_number("site", event->site);
    if (event->comm != TRACE_NONE)
        print_number("comm", event->comm);
    if (event->object != TRACE_NONE)
        print_number("object", event->object);
    if (event->peer != TRACE_UNDEFINED)
        print_number("peer", event->peer);
    if (event->tag != TRACE_UNDEFINED)
        print_number("tag", event->tag);
    if (event->root != TRACE_UNDEFINED)
        print_number("root", event->root);
    if (event->request != TRACE_NO_REQUEST)
        printf(" request=%" PRIu64, event->request);
    printf(" bytes=%" PRIu64 " received=%" PRIu64, event->bytes, event->received);
    if (event->kind == TRACE_COUNTER)
        printf(" value=%g", event->value);
    if (event->kind == TRACE_ENTER)
        print_number("known", event->is_known);
    printf("\n");
}

static void print_ranks(const char *name, const int *ranks, int count)
{
    printf(" %s=", name);
    for (int i = 0; i < count; i++)
        printf("%s%d", i ? "," : "", ranks[i]);
}

static void print_process(const struct trace_process *process)
{
    printf("process rank=%d ranks=%d run=%" PRIx64 "%" PRIx64 " end=%d detail=%s dropped=%" PRIu64
           " unfinished=%" PRIu64 " points=%zu locations=%zu ring=%d end_ticks=%" PRIu64 "\n",
           process->rank, process->ranks, process->run[0], process->run[1], (int)process->end,
           process->end_detail ? process->end_detail : "", process->dropped, process->unfinished,
           process->point_count, process->location_count, process->is_ring, process->end_ticks);
    for (size_t i = 0; i < process->location_count; i++)
        printf("location rank=%d index=%zu events=%" PRIu64 " name=%s\n", process->rank, i,
               process->locations[i].events, process->locations[i].name);
    for (size_t i = 0; i < process->comm_count; i++) {
        const struct trace_comm *comm = &process->comms[i];
        printf("comm rank=%d index=%zu id=%" PRIx64 " parent=%" PRIx64 " own=%d", process->rank, i,
               comm->id, comm->parent, comm->rank);
        print_ranks("group", comm->group, comm->size);
        print_ranks("remote", comm->remote, comm->remote_size);
        printf(" name=%s\n", comm->name);
    }
    for (size_t i = 0; i < process->window_count; i++)
        printf("window rank=%d index=%zu comm=%d name=%s\n", process->rank, i,
               (int)process->windows[i].comm, process->windows[i].name);
    for (size_t i = 0; i < process->file_count; i++)
        printf("file rank=%d index=%zu comm=%d name=%s\n", process->rank, i,
               (int)process->files[i].comm, process->files[i].name);
    for (size_t i = 0; i < process->region_count; i++)
        printf("region rank=%d index=%zu name=%s\n", process->rank, i, process->regions[i].name);
    for (size_t i = 0; i < process->counter_count; i++)
        printf("counter rank=%d index=%zu name=%s\n", process->rank, i, process->counters[i].name);
    for (size_t i = 0; i < process->site_count; i++) {
        printf("site rank=%d index=%zu frames=", process->rank, i);
        for (size_t j = 0; j < process->sites[i].count; j++)
            printf("%s%s+0x%" PRIx64, j ? "," : "",
                   process->libraries[process->sites[i].frames[j].library],
                   process->sites[i].frames[j].offset);
        printf("\n");
    }
}

static void print_events(const struct trace *trace, uint32_t index)
{
    const struct trace_process *process = &trace->processes[index];
    const struct trace_cursor_selection all = {0};
    for (uint32_t location = 0; location < process->location_count; location++) {
        struct trace_cursor *cursor = trace_cursor_make(trace, index, location, &all);
        struct trace_event event;
        while (trace_cursor_next(cursor, &event, NULL))
            print_event(process, &event);
        trace_cursor_free(cursor);
    }
}

int main(int argc, char **argv)
{
    char *problem = NULL;
    struct trace *trace = argc > 1 ? trace_reader_open(argv[1], &problem) : NULL;
    if (!trace) {
        fprintf(stderr, "%s\n", problem ? problem : "usage: read_trace PATH");
        return 1;
    }
    printf("warnings=%s\n", trace->warnings);
    for (size_t i = 0; i < trace->process_count; i++) {
        print_process(&trace->processes[i]);
        print_events(trace, (uint32_t)i);
    }
    trace_reader_close(trace);
    return 0;
}
