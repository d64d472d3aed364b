/* SPDX-License-Identifier: MIT */
/* See csv.h. */
#include "trace/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TRACE_KINDS] = {
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

const char *trace_kind_name(enum trace_kind kind)
{
    return (unsigned)kind < TRACE_KINDS && names[kind] ? names[kind] : "unknown";
}

/* ---- Fields: each writes the comma before it ------------------------------------------------- */

static void put_text(FILE *stream, const char *text)
{
    putc_unlocked(',', stream);
    if (!text)
        return;
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stream);
        return;
    }
    putc_unlocked('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            putc_unlocked('"', stream);
        putc_unlocked(*text, stream);
    }
    putc_unlocked('"', stream);
}

/* A rank or a tag. */
static void put_rank(FILE *stream, int rank)
{
    if (rank == TRACE_ANY)
        fputs(",any", stream);
    else if (rank == TRACE_PROC_NULL)
        fputs(",null", stream);
    else if (rank == TRACE_ROOT_SELF)
        fputs(",self", stream);
    else if (rank == TRACE_UNDEFINED)
        putc_unlocked(',', stream);
    else
        fprintf(stream, ",%d", rank);
}

static void put_number(FILE *stream, uint64_t number, bool applies)
{
    if (applies)
        fprintf(stream, ",%" PRIu64, number);
    else
        putc_unlocked(',', stream);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool has_bytes(enum trace_kind kind)
{
    switch (kind) {
    case TRACE_SEND:
    case TRACE_RECV:
    case TRACE_ISEND:
    case TRACE_IRECV_REQUEST:
    case TRACE_IRECV:
    case TRACE_COLLECTIVE_END:
    case TRACE_ICOLLECTIVE_COMPLETE:
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
    case TRACE_IO:
    case TRACE_DROPPED:
        return true;
    default:
        return false;
    }
}

static bool has_received(enum trace_kind kind)
{
    switch (kind) {
    case TRACE_COLLECTIVE_END:
    case TRACE_ICOLLECTIVE_COMPLETE:
    case TRACE_RMA_PUT:
    case TRACE_RMA_GET:
    case TRACE_RMA_ATOMIC:
    case TRACE_IO:
        return true;
    default:
        return false;
    }
}

/* What does not change within a process. */
struct output {
    FILE *stream;
    const struct trace_process *process;
    char rank[16], name[TRACE_NAME_SIZE];
    char **sites; /* as they are described */
};

static void put_seconds(FILE *stream, int64_t time)
{
    const uint64_t size = time < 0 ? -(uint64_t)time : (uint64_t)time;
    fprintf(stream, "%s%" PRIu64 ".%09" PRIu64, time < 0 ? "-" : "", size / 1000000000,
            size % 1000000000);
}

static void put_row(const struct output *output, const struct trace_event *event)
{
    FILE *stream = output->stream;
    const struct trace_process *process = output->process;
    char room[TRACE_NAME_SIZE];
    const bool has_function = event->function < process->function_count;
    put_seconds(stream, event->time);
    fprintf(stream, ",%s,%" PRId64, output->rank, process->pid);
    put_text(stream, trace_location_name(process, event->location, room));
    fprintf(stream, ",%s", trace_kind_name(event->kind));
    put_text(stream, has_function ? trace_function_name(process, event->function) : NULL);
    put_text(stream, has_function ? trace_function_group(process, event->function) : NULL);
    put_text(stream, event->comm < process->comm_count ? trace_comm_name(process, event->comm, room)
                                                       : NULL);
    put_rank(stream, event->peer);
    put_rank(stream, event->tag);
    put_rank(stream, event->root);
    put_number(stream, event->bytes, has_bytes(event->kind));
    put_number(stream, event->received, has_received(event->kind));
    put_number(stream, event->request, event->request != TRACE_NO_REQUEST);
    put_text(stream, event->object != TRACE_NONE ? trace_object_name(process, event, room) : NULL);
    if (event->kind == TRACE_COUNTER)
        fprintf(stream, ",%.17g", event->value);
    else if (event->kind == TRACE_FLUSH) /* seconds */
        fprintf(stream, ",%.9f", (double)event->bytes * process->tick * 1e-9);
    else
        putc_unlocked(',', stream);
    put_text(stream, output->sites && event->site < process->site_count ? output->sites[event->site]
                                                                        : NULL);
    putc_unlocked('\n', stream);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static bool write_process(FILE *stream, const struct trace_export *export, uint32_t index)
{
    struct output output = {.stream = stream, .process = &export->view->trace->processes[index]};
    struct trace_event event;
    uint64_t message;
    struct trace_view_stream *events = trace_view_stream_make(export->view, index);
    output.sites = calloc(output.process->site_count + 1, sizeof *output.sites);
    if (output.process->rank >= 0)
        snprintf(output.rank, sizeof output.rank, "%d", output.process->rank);
    while (events && output.sites && trace_view_stream_next(events, &event, &message)) {
        if (event.site < output.process->site_count && !output.sites[event.site])
            output.sites[event.site] = trace_describe_site(export, output.process, event.site);
        put_row(&output, &event);
    }
    const bool good = events && output.sites && !trace_view_stream_failed(events);
    for (size_t i = 0; output.sites && i < output.process->site_count; i++)
        free(output.sites[i]);
    free(output.sites);
    trace_view_stream_free(events);
    return good;
}

bool trace_write_csv(FILE *stream, const struct trace_export *export)
{
    fputs(TRACE_CSV_HEADER, stream);
    for (uint32_t i = 0; i < export->view->trace->process_count && !ferror(stream); i++) {
        if (trace_view_has(export->view, i) && !write_process(stream, export, i))
            return false;
    }
    return true;
}
