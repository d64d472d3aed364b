/* SPDX-License-Identifier: MIT */
/* See convert.h. */
#define _GNU_SOURCE
#include "save/convert.h"

#include "layer.h"
#include "save/matching.h"
#include "trace/trace.h"
#include "util/util.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The caller of a call. */
static char *describe(void *data, const struct trace_process *process,
                      const struct trace_site *site)
{
    const QMPIX_Address *found;
    char *text = NULL;
    (void)data;
    if (!site->count || site->frames[0].library >= process->library_count ||
        QMPIX_Library_describe(process->libraries[site->frames[0].library],
                               (size_t)site->frames[0].offset, &found) != MPI_SUCCESS ||
        !found->frame_count || !found->frames[0].function)
        return NULL;
    const QMPIX_Frame *frame = &found->frames[0];
    const int length = frame->file ? asprintf(&text, "%s (%s:%d)", frame->function,
                                              base_name(frame->file), frame->line)
                                   : asprintf(&text, "%s", frame->function);
    return length < 0 ? NULL : text;
}

static void say(const struct layer *layer, char *problem)
{
    qmpi_printf("trace (layer %d): rank %d: %-s\n  `qmpi trace %s` reads the files of the "
                "processes",
                layer->tool_id, layer->rank, problem ? problem : "out of memory", layer->directory);
    free(problem);
}

static struct trace *open_process_trace(const struct layer *layer)
{
    char *problem = NULL;
    if (layer->rank < 0 || !atomic_load(&layer->writer.has_ended) ||
        atomic_load(&layer->writer.has_failed))
        return NULL;
    struct trace *trace = trace_open(layer->writer.path, &problem);
    if (!trace)
        say(layer, problem);
    return trace;
}

/* Collective: time 0 is the earliest event of all processes, and its date is that of the clock of
 * the first one, as for a file of all. False: nobody has a trace. */
static bool share(struct trace *trace, MPI_Comm comm)
{
    enum { BASE, FIRST, WORDS };
    long long mine[WORDS] = {LLONG_MAX, LLONG_MAX}, all[WORDS], epoch = 0;
    int rank;
    if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS)
        return false;
    if (trace) {
        mine[BASE] = trace->base;
        mine[FIRST] = rank;
        epoch = (long long)((uint64_t)trace->started - (uint64_t)trace->base);
    }
    if (PMPI_Allreduce(mine, all, WORDS, MPI_LONG_LONG, MPI_MIN, comm) != MPI_SUCCESS ||
        all[FIRST] == LLONG_MAX ||
        PMPI_Bcast(&epoch, 1, MPI_LONG_LONG, (int)all[FIRST], comm) != MPI_SUCCESS)
        return false;
    if (trace)
        trace_share_times(trace, all[BASE], epoch);
    return true;
}

static void write_file(const struct layer *layer, const struct trace_view *view,
                       const struct trace_pairs *pairs)
{
    const bool is_json = layer->options.format == FORMAT_JSON;
    const struct trace_export export = {view, pairs, describe, NULL};
    char *target = NULL, *problem = NULL;
    if (asprintf(&target, "%s/rank-%d.%s", layer->directory, layer->rank,
                 is_json ? "json" : "perfetto-trace") < 0)
        target = NULL;
    if (!target ||
        !trace_convert(&export, target, is_json ? TRACE_TO_JSON : TRACE_TO_PERFETTO, &problem))
        say(layer, problem);
    QMPIX_Debug_info_release();
    free(target);
}

void convert_write(struct layer *layer, MPI_Comm comm)
{
    struct trace *trace = open_process_trace(layer);
    if (share(trace, comm)) {
        struct trace_view view = {0};
        struct trace_pairs pairs;
        const bool is_open = trace && trace_view_open(&view, trace, NULL);
        const bool is_known = matching_find(&pairs, is_open ? &view : NULL, layer->rank, comm);
        if (is_open)
            write_file(layer, &view, is_known ? &pairs : NULL);
        else if (trace)
            say(layer, NULL);
        trace_pairs_free(&pairs);
        if (trace)
            trace_view_close(&view);
    }
    trace_close(trace);
}
