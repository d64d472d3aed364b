/* SPDX-License-Identifier: MIT */
/* See end.h. */
#define _GNU_SOURCE
#include "write/end.h"

#include "layer.h"
#include "util/util.h"
#include "write/file.h"
#include "write/process.h"

#include <sys/resource.h>
#include <unistd.h>

static uint64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}

static void say(const struct layer *layer, const struct trace_process *process)
{
    static const char *const ends[] = {
        [TRACE_END_EXIT] = "exit", [TRACE_END_ABORT] = "MPI_Abort", [TRACE_END_SIGNAL] = "signal "};
    qmpi_printf(
        "trace (layer %d): rank %d ended without MPI_Finalize (%s%s); `qmpi trace` reads %s",
        layer->tool_id, layer->rank < 0 ? 0 : layer->rank, ends[process->end],
        process->end_detail ? process->end_detail : "", layer->writer.path);
}

void end_write(struct layer *layer)
{
    struct writer *writer = &layer->writer;
    struct trace_clock_point points[PROCESS_POINTS];
    const size_t count = process_points(layer, points);
    const struct trace_process process = {.end = (enum trace_end)atomic_load(&writer->end),
                                          .end_detail = (char *)(uintptr_t)writer->end_detail,
                                          .end_ticks = writer->end_ticks,
                                          .dropped = atomic_load(&layer->dropped),
                                          .memory = peak_memory(),
                                          .is_ring = layer->options.is_ring,
                                          .omits = atomic_load(&layer->omits)};
    trace_put_clock(&writer->records, process_tick(), points, count);
    trace_put_end(&writer->records, &process);
    trace_put_definitions(&writer->out, &writer->records);
    atomic_store(&writer->has_failed, false); /* there may be room by now */
    file_write(layer, &writer->out);
    if (process.end != TRACE_END_FINALIZE)
        say(layer, &process);
    close(writer->descriptor);
    writer->descriptor = -1;
}
