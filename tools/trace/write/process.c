/* SPDX-License-Identifier: MIT */
/* See process.h. */
#define _GNU_SOURCE
#include "write/process.h"

#include "layer.h"

#include <qmpi/clock.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* It may be a page. */
char *process_mpi(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    PMPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
    for (char *c = text; *c; c++) {
        if (*c == '\t')
            *c = ' ';
    }
    return strdup(text);
}

void process_describe(const struct layer *layer, struct trace_process *process)
{
    char host[256] = "";
    QMPIX_Clock_info info = {.size = sizeof info};
    QMPIX_Clock_get_info(&info);
    gethostname(host, sizeof host - 1);
    *process = (struct trace_process){.file = strdup(layer->writer.path ? layer->writer.path : ""),
                                      .run = {layer->run[0], layer->run[1]},
                                      .rank = layer->rank,
                                      .ranks = layer->ranks,
                                      .tool_id = layer->tool_id,
                                      .host = strdup(host),
                                      .program = realpath("/proc/self/exe", NULL),
                                      .mpi = process_mpi(),
                                      .clock = strdup(info.name ? info.name : ""),
                                      .pid = getpid(),
                                      .started = layer->started,
                                      .start_ticks = layer->start_ticks,
                                      .tick = info.tick};
    if (!process->program)
        process->program = strdup("");
}

void process_clear(struct trace_process *process)
{
    free(process->file);
    free(process->host);
    free(process->program);
    free(process->mpi);
    free(process->clock);
}

size_t process_points(const struct layer *layer, struct trace_clock_point points[PROCESS_POINTS])
{
    const uint64_t ticks[PROCESS_POINTS] = {layer->init_ticks, layer->finalize_ticks};
    size_t count = 0;
    for (size_t i = 0; i < PROCESS_POINTS; i++) {
        uint64_t time, bound;
        if (ticks[i] && QMPIX_Clock_get_world_time(ticks[i], &time, &bound) == MPI_SUCCESS)
            points[count++] = (struct trace_clock_point){ticks[i], (int64_t)time, bound};
    }
    return count;
}

double process_tick(void)
{
    QMPIX_Clock_info info = {.size = sizeof info};
    QMPIX_Clock_get_info(&info);
    return info.tick;
}

void process_put_world(const struct layer *layer, struct trace_bytes *records, const char *mpi)
{
    struct trace_clock_point points[PROCESS_POINTS];
    const size_t count = process_points(layer, points);
    trace_put_world(records, layer->run, layer->rank, layer->ranks, mpi);
    if (count)
        trace_put_clock(records, process_tick(), points, count);
}
