/* SPDX-License-Identifier: MIT */
/* See export.h. */
#define _GNU_SOURCE
#include "trace/export.h"

#include "trace/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------- */

static const char *named(const char *name, char *room, const char *kind, uint32_t index)
{
    if (name && *name)
        return name;
    snprintf(room, TRACE_NAME_SIZE, "%s %" PRIu32, kind, index);
    return room;
}

const char *trace_process_name(const struct trace_process *process, char *room)
{
    if (process->rank >= 0)
        snprintf(room, TRACE_NAME_SIZE, "rank %d", process->rank);
    else
        snprintf(room, TRACE_NAME_SIZE, "process %" PRId64, process->pid);
    return room;
}

const char *trace_comm_name(const struct trace_process *process, uint32_t comm, char *room)
{
    return named(comm < process->comm_count ? process->comms[comm].name : NULL, room,
                 "communicator", comm);
}

const char *trace_object_name(const struct trace_process *process, const struct trace_event *event,
                              char *room)
{
    const uint32_t i = event->object;
    switch (event->kind) {
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
    case TRACE_WIN_CREATE:
    case TRACE_WIN_DESTROY:
        return named(i < process->window_count ? process->windows[i].name : NULL, room, "window",
                     i);
    case TRACE_IO_REQUEST:
    case TRACE_IO:
    case TRACE_FILE_OPEN:
    case TRACE_FILE_CLOSE:
    case TRACE_CALL_OBJECT:
        return named(i < process->file_count ? process->files[i].name : NULL, room, "file", i);
    case TRACE_REGION_BEGIN:
    case TRACE_REGION_END:
        return named(i < process->region_count ? process->regions[i].name : NULL, room, "region",
                     i);
    case TRACE_COUNTER:
        return named(i < process->counter_count ? process->counters[i].name : NULL, room, "counter",
                     i);
    default:
        return NULL;
    }
}

const char *trace_function_name(const struct trace_process *process, uint32_t function)
{
    const char *name =
        function < process->function_count ? process->functions[function].name : NULL;
    return name ? name : "unknown function";
}

const char *trace_function_group(const struct trace_process *process, uint32_t function)
{
    const char *group =
        function < process->function_count ? process->functions[function].group : NULL;
    return group ? group : "";
}

const char *trace_location_name(const struct trace_process *process, uint32_t location, char *room)
{
    return named(location < process->location_count ? process->locations[location].name : NULL,
                 room, "thread", location);
}

const char *trace_end_name(const struct trace_process *process, char *room)
{
    const char *detail = process->end_detail ? process->end_detail : "";
    switch (process->end) {
    case TRACE_END_FINALIZE:
        return "MPI_Finalize";
    case TRACE_END_EXIT:
        return "exit without MPI_Finalize";
    case TRACE_END_ABORT:
        return "MPI_Abort";
    case TRACE_END_SIGNAL:
        snprintf(room, TRACE_NAME_SIZE, "signal%s%s", *detail ? " " : "", detail);
        return room;
    default:
        return "no end: killed, or still running";
    }
}

char *trace_describe_site(const struct trace_export *export, const struct trace_process *process,
                          uint32_t site)
{
    if (site >= process->site_count || !process->sites[site].count)
        return NULL;
    char *text = export->describe
                     ? export->describe(export->describe_data, process, &process->sites[site])
                     : NULL;
    if (text)
        return text;
    const struct trace_frame *frame = process->sites[site].frames;
    const char *path =
        frame->library < process->library_count ? process->libraries[frame->library] : "unknown";
    const char *slash = strrchr(path, '/');
    return asprintf(&text, "%s+0x%" PRIx64, slash ? slash + 1 : path, frame->offset) < 0 ? NULL
                                                                                         : text;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

uint32_t trace_world_size(const struct trace_process *process)
{
    const int least = process->rank >= 0 ? process->rank : -1;
    return process->ranks > least ? (uint32_t)process->ranks : (uint32_t)least + 1;
}

uint32_t trace_position(const struct trace_view *view, uint32_t process)
{
    const struct trace_process *all = view->trace->processes;
    uint32_t position = 0;
    if (all[process].rank >= 0)
        return (uint32_t)all[process].rank;
    for (size_t i = 0; i < view->trace->process_count; i++) {
        const uint32_t size = trace_world_size(&all[i]);
        position = size > position ? size : position;
    }
    for (uint32_t i = 0; i < process; i++)
        position += all[i].rank < 0;
    return position;
}

int64_t trace_process_number(const struct trace_view *view, uint32_t process)
{
    return (int64_t)trace_position(view, process) + 1; /* 0 is the idle process of a system */
}

int64_t trace_thread_number(const struct trace_view *view, uint32_t process, uint32_t location)
{
    enum { MOST = 1 << 20 }; /* of processes, usually: small numbers fit into 32 bits */
    const int64_t size = trace_world_size(&view->trace->processes[process]);
    return trace_process_number(view, process) +
           (int64_t)location * (size < MOST ? MOST : 2 * size);
}

/* ---- Whose file it is ------------------------------------------------------------------------ */

bool trace_export_is_ours(const char *bytes, size_t size)
{
    enum { HEAD = 128 };
    const size_t header = strlen(TRACE_CSV_HEADER);
    return !size || (size >= header && !memcmp(bytes, TRACE_CSV_HEADER, header)) ||
           memmem(bytes, size < HEAD ? size : HEAD, TRACE_EXPORT_MARK, strlen(TRACE_EXPORT_MARK));
}
