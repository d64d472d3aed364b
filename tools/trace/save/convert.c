/* SPDX-License-Identifier: MIT */
/* See convert.h. */
#define _GNU_SOURCE
#include "save/convert.h"

#include "layer.h"
#include "trace/trace.h"
#include "util/util.h"

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

static void write_file(const struct layer *layer)
{
    const bool is_json = layer->options.format == FORMAT_JSON;
    char *target = NULL, *problem = NULL;
    if (asprintf(&target, "%s/%s", layer->directory,
                 is_json ? "trace.json" : "trace.perfetto-trace") < 0)
        target = NULL;
    if (!target ||
        !trace_convert(layer->directory, target, is_json ? TRACE_TO_JSON : TRACE_TO_PERFETTO,
                       describe, NULL, &problem))
        qmpi_printf("trace (layer %d): %-s\n  `qmpi trace %s` reads the files of the processes, "
                    "which are complete",
                    layer->tool_id, problem ? problem : "out of memory", layer->directory);
    QMPIX_Debug_info_release();
    free(problem);
    free(target);
}

void convert_write(struct layer *layer, MPI_Comm comm)
{
    if (PMPI_Barrier(comm) == MPI_SUCCESS && layer->rank == 0 &&
        !(layer->switches.off & OFF_FAILED))
        write_file(layer);
}
