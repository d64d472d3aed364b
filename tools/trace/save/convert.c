/* SPDX-License-Identifier: MIT */
/* See convert.h. */
#define _GNU_SOURCE
#include "save/convert.h"

#include "layer.h"
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

/* A number that processes on one host have in common. */
static long long host_word(const struct trace *trace)
{
    unsigned long long word = 0;
    for (const char *c = trace->process_count ? trace->processes->host : NULL; c && *c; c++)
        word = word * 31 + (unsigned char)*c;
    return (long long)(word >> 2);
}

/* Collective: time 0 is the earliest event of all processes. False: nobody has a trace. */
static bool share(struct trace *trace, MPI_Comm comm)
{
    enum { BASE, EPOCH, HOST, OTHER_HOST, WORDS };
    long long mine[WORDS] = {LLONG_MAX, LLONG_MAX, LLONG_MAX, LLONG_MAX}, all[WORDS];
    if (trace) {
        mine[BASE] = trace->base;
        mine[EPOCH] = (long long)((uint64_t)trace->started - (uint64_t)trace->base);
        mine[HOST] = host_word(trace);
        mine[OTHER_HOST] = -mine[HOST];
    }
    if (PMPI_Allreduce(mine, all, WORDS, MPI_LONG_LONG, MPI_MIN, comm) != MPI_SUCCESS)
        return false;
    if (trace)
        trace_share_times(trace, all[BASE], all[EPOCH], all[HOST] != -all[OTHER_HOST]);
    return true;
}

static void write_file(const struct layer *layer, const struct trace *trace)
{
    const bool is_json = layer->options.format == FORMAT_JSON;
    char *target = NULL, *problem = NULL;
    if (asprintf(&target, "%s/rank-%d.%s", layer->directory, layer->rank,
                 is_json ? "json" : "perfetto-trace") < 0)
        target = NULL;
    if (!target || !trace_convert_opened(trace, target, is_json ? TRACE_TO_JSON : TRACE_TO_PERFETTO,
                                         describe, NULL, &problem))
        say(layer, problem);
    QMPIX_Debug_info_release();
    free(target);
}

void convert_write(struct layer *layer, MPI_Comm comm)
{
    struct trace *trace = open_process_trace(layer);
    if (share(trace, comm) && trace)
        write_file(layer, trace);
    trace_close(trace);
}
