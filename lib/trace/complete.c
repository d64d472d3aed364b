/* SPDX-License-Identifier: MIT */
/* See records.h: definitions as they are given to readers, who need not check them. */
#define _GNU_SOURCE
#include "trace/records.h"

#include <stdlib.h>

static bool make_text(char **text)
{
    if (!*text)
        *text = strdup("");
    return *text != NULL;
}

static bool make_texts(struct trace_process *process)
{
    bool whole = make_text(&process->file) && make_text(&process->host) &&
                 make_text(&process->program) && make_text(&process->mpi) &&
                 make_text(&process->clock);
    for (size_t i = 0; i < process->function_count; i++)
        whole = whole && make_text(&process->functions[i].name) &&
                make_text(&process->functions[i].group);
    for (size_t i = 0; i < process->library_count; i++)
        whole = whole && make_text(&process->libraries[i]);
    for (size_t i = 0; i < process->comm_count; i++)
        whole = whole && make_text(&process->comms[i].name);
    for (size_t i = 0; i < process->window_count; i++)
        whole = whole && make_text(&process->windows[i].name);
    for (size_t i = 0; i < process->file_count; i++)
        whole = whole && make_text(&process->files[i].name);
    for (size_t i = 0; i < process->region_count; i++)
        whole = whole && make_text(&process->regions[i].name);
    for (size_t i = 0; i < process->counter_count; i++)
        whole = whole && make_text(&process->counters[i].name) &&
                make_text(&process->counters[i].description) &&
                make_text(&process->counters[i].unit);
    for (size_t i = 0; i < process->location_count; i++)
        whole = whole && make_text(&process->locations[i].name);
    return whole;
}

bool trace_definitions_finish(struct trace_definitions *definitions)
{
    struct trace_process *process = definitions->process;
    for (size_t i = 0; i < process->site_count; i++) {
        struct trace_site *site = &process->sites[i];
        size_t count = 0;
        for (size_t j = 0; j < site->count; j++)
            if (site->frames[j].library < process->library_count)
                site->frames[count++] = site->frames[j];
        site->count = count;
    }
    for (size_t i = 0; i < process->window_count; i++)
        if (process->windows[i].comm >= process->comm_count)
            process->windows[i].comm = TRACE_NONE;
    for (size_t i = 0; i < process->file_count; i++)
        if (process->files[i].comm >= process->comm_count)
            process->files[i].comm = TRACE_NONE;
    return make_texts(process);
}
