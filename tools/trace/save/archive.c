/* SPDX-License-Identifier: MIT */
/* See archive.h. */
#include "save/archive.h"

#include "layer.h"
#include "save/group.h"
#include "util/util.h"

#include <stdlib.h>

static const struct trace_otf2 *open_otf2(char **problem)
{
    char *path = tool_companion_file(TRACE_OTF2_FILE);
    const struct trace_otf2 *otf2 = trace_otf2_open(path, problem);
    free(path);
    return otf2;
}

void archive_check(const struct layer *layer)
{
    char *problem = NULL;
    if (layer->options.format != FORMAT_OTF2 || !qmpi_is_reporting_process() || open_otf2(&problem))
        return;
    qmpi_printf("trace (layer %d): no archive in OTF2 will be made: %-s\n"
                "  `qmpi trace` reads the files of the processes",
                layer->tool_id, problem ? problem : "out of memory");
    free(problem);
}

static void say(const struct layer *layer, const char *problem)
{
    qmpi_printf("trace (layer %d): rank %d: no archive in OTF2: %-s\n  `qmpi trace %s` reads the "
                "files of the processes",
                layer->tool_id, layer->rank, problem ? problem : "out of memory", layer->directory);
}

void archive_write(struct layer *layer, MPI_Comm comm)
{
    struct trace_otf2_group group;
    char *problem = NULL;
    const bool has_file =
        atomic_load(&layer->writer.has_ended) && !atomic_load(&layer->writer.has_failed);
    const struct trace_otf2 *otf2 = open_otf2(&problem);
    int mine = otf2 != NULL, all = 0;
    free(problem); /* said in `init` */
    problem = NULL;
    /* A process that has no library would be waited for. */
    if (PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || !all ||
        !group_make(&group, &comm))
        return;
    if (!otf2->write_together(&group, has_file ? layer->writer.path : NULL, layer->directory,
                              &problem) &&
        (problem || layer->rank == 0))
        say(layer, problem);
    free(problem);
}
