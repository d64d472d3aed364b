/* SPDX-License-Identifier: MIT */
/* See collective_kind.h. Of functions whose counts differ from member to member, it is not known
 * whether a member has data for another one. */
#include "trace/collective_kind.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum collective_kind kind;
} kinds[] = {
    {"barrier", COLLECTIVE_BARRIER},    {"allreduce", COLLECTIVE_ALL},
    {"allgather", COLLECTIVE_ALL},      {"alltoall", COLLECTIVE_ALL},
    {"reduce_scatter", COLLECTIVE_ALL}, {"reduce_scatter_block", COLLECTIVE_ALL},
    {"bcast", COLLECTIVE_FROM_ROOT},    {"scatter", COLLECTIVE_FROM_ROOT},
    {"scatterv", COLLECTIVE_FROM_ROOT}, {"gather", COLLECTIVE_TO_ROOT},
    {"reduce", COLLECTIVE_TO_ROOT},     {"scan", COLLECTIVE_PREFIX},
    {"exscan", COLLECTIVE_PREFIX},
};

static enum collective_kind find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strlen(kinds[i].name) == length && !strncasecmp(kinds[i].name, name, length))
            return kinds[i].kind;
    }
    return COLLECTIVE_OTHER;
}

enum collective_kind trace_collective_kind(const char *function)
{
    if (!function || strncasecmp(function, "MPI_", 4) != 0)
        return COLLECTIVE_OTHER;
    const char *name = function + 4;
    size_t length = strlen(name);
    if (length > 2 && !strcmp(name + length - 2, "_c"))
        length -= 2;
    const enum collective_kind kind = find(name, length);
    return kind || *name != 'I' ? kind : find(name + 1, length - 1);
}

unsigned char *trace_collective_kinds(const struct trace_process *process)
{
    unsigned char *all = calloc(process->function_count + 1, 1);
    for (size_t i = 0; all && i < process->function_count; i++)
        all[i] = (unsigned char)trace_collective_kind(process->functions[i].name);
    return all;
}
