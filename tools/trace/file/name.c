/* SPDX-License-Identifier: MIT */
/* See name.h. */
#include "tools/trace/file/name.h"

#include <inttypes.h>
#include <stdio.h>

static const char *name_or_number(const char *name, char *room, const char *kind, uint32_t index)
{
    if (name && *name)
        return name;
    snprintf(room, TRACE_NAME_SIZE, "%s %" PRIu32, kind, index);
    return room;
}

const char *trace_name_process(const struct trace_process *process, char *room)
{
    if (process->rank >= 0)
        snprintf(room, TRACE_NAME_SIZE, "rank %d", process->rank);
    else
        snprintf(room, TRACE_NAME_SIZE, "process %" PRId64, process->pid);
    return room;
}

const char *trace_name_comm(const struct trace_process *process, uint32_t comm, char *room)
{
    return name_or_number(comm < process->comm_count ? process->comms[comm].name : NULL, room,
                          "communicator", comm);
}

const char *trace_name_object(const struct trace_process *process, const struct trace_event *event,
                              char *room)
{
    const uint32_t i = event->object;
    switch (event->kind) {
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
    case TRACE_WIN_CREATE:
    case TRACE_WIN_DESTROY:
        return name_or_number(i < process->window_count ? process->windows[i].name : NULL, room,
                              "window", i);
    case TRACE_IO_REQUEST:
    case TRACE_IO:
    case TRACE_FILE_OPEN:
    case TRACE_FILE_CLOSE:
    case TRACE_CALL_OBJECT:
        return name_or_number(i < process->file_count ? process->files[i].name : NULL, room, "file",
                              i);
    case TRACE_REGION_BEGIN:
    case TRACE_REGION_END:
        return name_or_number(i < process->region_count ? process->regions[i].name : NULL, room,
                              "region", i);
    case TRACE_COUNTER:
        return name_or_number(i < process->counter_count ? process->counters[i].name : NULL, room,
                              "counter", i);
    default:
        return NULL;
    }
}

const char *trace_name_function(const struct trace_process *process, uint32_t function)
{
    const char *name =
        function < process->function_count ? process->functions[function].name : NULL;
    return name ? name : "unknown function";
}

const char *trace_name_group(const struct trace_process *process, uint32_t function)
{
    const char *group =
        function < process->function_count ? process->functions[function].group : NULL;
    return group ? group : "";
}

const char *trace_name_location(const struct trace_process *process, uint32_t location, char *room)
{
    return name_or_number(location < process->location_count ? process->locations[location].name
                                                             : NULL,
                          room, "thread", location);
}

const char *trace_name_end(const struct trace_process *process, char *room)
{
    const char *detail = process->end_detail ? process->end_detail : "";
    switch (process->end) {
    case TRACE_END_FINALIZE:
        snprintf(room, TRACE_NAME_SIZE, "%s", *detail ? detail : "MPI_Finalize");
        return room;
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

static const char *const kinds[TRACE_KINDS] = {
    [TRACE_ENTER] = "enter",
    [TRACE_LEAVE] = "leave",
    [TRACE_SEND] = "send",
    [TRACE_RECV] = "receive",
    [TRACE_ISEND] = "isend",
    [TRACE_ISEND_COMPLETE] = "isend_complete",
    [TRACE_IRECV_REQUEST] = "irecv_request",
    [TRACE_IRECV] = "irecv",
    [TRACE_REQUEST_TEST] = "request_test",
    [TRACE_REQUEST_CANCELLED] = "request_cancelled",
    [TRACE_REQUEST_FREED] = "request_freed",
    [TRACE_COLLECTIVE_BEGIN] = "collective_begin",
    [TRACE_COLLECTIVE_END] = "collective_end",
    [TRACE_ICOLLECTIVE_REQUEST] = "icollective_request",
    [TRACE_ICOLLECTIVE_COMPLETE] = "icollective_complete",
    [TRACE_RMA_PUT] = "rma_put",
    [TRACE_RMA_GET] = "rma_get",
    [TRACE_RMA_ATOMIC] = "rma_atomic",
    [TRACE_RMA_COMPLETE] = "rma_complete",
    [TRACE_IO_REQUEST] = "io_request",
    [TRACE_IO] = "io",
    [TRACE_COMM_CREATE] = "comm_create",
    [TRACE_COMM_DESTROY] = "comm_destroy",
    [TRACE_WIN_CREATE] = "win_create",
    [TRACE_WIN_DESTROY] = "win_destroy",
    [TRACE_FILE_OPEN] = "file_open",
    [TRACE_FILE_CLOSE] = "file_close",
    [TRACE_REGION_BEGIN] = "region_begin",
    [TRACE_REGION_END] = "region_end",
    [TRACE_COUNTER] = "counter",
    [TRACE_OFF] = "off",
    [TRACE_ON] = "on",
    [TRACE_DROPPED] = "dropped",
    [TRACE_FLUSH] = "flush",
    [TRACE_CALL_OBJECT] = "call_object",
    [TRACE_INTERRUPTED] = "interrupted",
};

const char *trace_name_kind(enum trace_event_kind kind)
{
    return (unsigned)kind < TRACE_KINDS && kinds[kind] ? kinds[kind] : "unknown";
}
