/* SPDX-License-Identifier: MIT */
/* See definitions.h. */
#include "trace/definitions.h"

#include <stdlib.h>

void trace_process_clear(struct trace_process *process)
{
    char *texts[] = {process->file, process->host,  process->program,
                     process->mpi,  process->clock, process->end_detail};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < process->function_count; i++) {
        free(process->functions[i].name);
        free(process->functions[i].group);
    }
    for (size_t i = 0; i < process->site_count; i++)
        free(process->sites[i].frames);
    for (size_t i = 0; i < process->library_count; i++)
        free(process->libraries[i]);
    for (size_t i = 0; i < process->comm_count; i++) {
        free(process->comms[i].name);
        free(process->comms[i].group);
        free(process->comms[i].remote);
    }
    for (size_t i = 0; i < process->window_count; i++)
        free(process->windows[i].name);
    for (size_t i = 0; i < process->file_count; i++)
        free(process->files[i].name);
    for (size_t i = 0; i < process->region_count; i++)
        free(process->regions[i].name);
    for (size_t i = 0; i < process->counter_count; i++) {
        free(process->counters[i].name);
        free(process->counters[i].description);
        free(process->counters[i].unit);
    }
    for (size_t i = 0; i < process->location_count; i++)
        free(process->locations[i].name);
    free(process->points);
    free(process->functions);
    free(process->sites);
    free(process->libraries);
    free(process->comms);
    free(process->windows);
    free(process->files);
    free(process->regions);
    free(process->counters);
    free(process->locations);
    *process = (struct trace_process){0};
}
