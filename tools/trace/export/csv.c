/* SPDX-License-Identifier: MIT */
/* Writes traces as comma-separated values: see export.h. */
#define _GNU_SOURCE
#include "tools/trace/export/export.h"

#include "tools/trace/file/name.h"
#include "util/util.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Fields: each function writes a comma and the field -------------------------------------- */

static void put_csv_text(FILE *stream, const char *text)
{
    putc_unlocked(',', stream);
    if (text)
        qmpi_text_put_csv(stream, text);
}

/* Writes a rank or a tag. */
static void put_csv_rank(FILE *stream, int rank)
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

static void put_csv_number(FILE *stream, uint64_t number, bool applies)
{
    if (applies)
        fprintf(stream, ",%" PRIu64, number);
    else
        putc_unlocked(',', stream);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The columns that are equal for all events of a process, and the descriptions of its call sites,
 * which are made when they are first needed. */
struct csv_process {
    FILE *stream;
    const struct trace_process *process;
    char rank[16];
    char **sites;
};

static void put_seconds(FILE *stream, int64_t time)
{
    const uint64_t size = time < 0 ? -(uint64_t)time : (uint64_t)time;
    fprintf(stream, "%s%" PRIu64 ".%09" PRIu64, time < 0 ? "-" : "", size / 1000000000,
            size % 1000000000);
}

static void put_row(const struct csv_process *output, const struct trace_event *event)
{
    FILE *stream = output->stream;
    const struct trace_process *process = output->process;
    char room[TRACE_NAME_SIZE];
    const uint32_t fields = trace_event_fields[event->kind];
    const bool has_function = event->function < process->function_count;
    put_seconds(stream, event->time);
    fprintf(stream, ",%s,%" PRId64, output->rank, process->pid);
    put_csv_text(stream, trace_name_location(process, event->location, room));
    fprintf(stream, ",%s", trace_name_kind(event->kind));
    put_csv_text(stream, has_function ? trace_name_function(process, event->function) : NULL);
    put_csv_text(stream, has_function ? trace_name_group(process, event->function) : NULL);
    put_csv_text(stream, event->comm < process->comm_count
                             ? trace_name_comm(process, event->comm, room)
                             : NULL);
    put_csv_rank(stream, event->peer);
    put_csv_rank(stream, event->tag);
    put_csv_rank(stream, event->root);
    put_csv_number(stream, event->bytes,
                   (fields & TRACE_FIELD_BIT(BYTES)) && event->kind != TRACE_FLUSH);
    put_csv_number(stream, event->received, fields & TRACE_FIELD_BIT(RECEIVED));
    put_csv_number(stream, event->request, event->request != TRACE_NO_REQUEST);
    put_csv_text(stream,
                 event->object != TRACE_NONE ? trace_name_object(process, event, room) : NULL);
    if (event->kind == TRACE_COUNTER)
        fprintf(stream, ",%.17g", event->value);
    else if (event->kind == TRACE_FLUSH) /* the column contains seconds */
        fprintf(stream, ",%.9f", (double)event->bytes * process->tick * 1e-9);
    else
        putc_unlocked(',', stream);
    put_csv_text(stream, output->sites && event->site < process->site_count
                             ? output->sites[event->site]
                             : NULL);
    putc_unlocked('\n', stream);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static bool write_csv_process(FILE *stream, const struct trace_export *export, uint32_t index)
{
    struct csv_process output = {.stream = stream,
                                 .process = &export->view->trace->processes[index]};
    struct trace_event event;
    uint64_t message;
    struct trace_view_stream *events = trace_view_stream_make(export->view, index);
    output.sites = calloc(output.process->site_count + 1, sizeof *output.sites);
    if (output.process->rank >= 0)
        snprintf(output.rank, sizeof output.rank, "%d", output.process->rank);
    while (events && output.sites && trace_view_stream_next(events, &event, &message)) {
        if (event.site < output.process->site_count && !output.sites[event.site])
            output.sites[event.site] = trace_export_site(export, output.process, event.site);
        put_row(&output, &event);
    }
    const bool good = events && output.sites && !trace_view_stream_failed(events);
    for (size_t i = 0; output.sites && i < output.process->site_count; i++)
        free(output.sites[i]);
    free(output.sites);
    trace_view_stream_free(events);
    return good;
}

bool trace_export_csv(FILE *stream, const struct trace_export *export)
{
    fputs(TRACE_EXPORT_CSV_HEADER, stream);
    for (uint32_t i = 0; i < export->view->trace->process_count && !ferror(stream); i++) {
        if (trace_view_has(export->view, i) && !write_csv_process(stream, export, i))
            return false;
    }
    return true;
}
