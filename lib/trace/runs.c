/* SPDX-License-Identifier: MIT */
/* See opened.h: which of the files of a directory are read together. */
#define _GNU_SOURCE
#include "trace/opened.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

void trace_warn(struct trace_opened *opened, char *warning)
{
    char *warnings = qmpi_format("%s%s\n", opened->trace.warnings, warning);
    free(opened->trace.warnings);
    free(warning);
    opened->trace.warnings = warnings;
}

static void remove_process(struct trace_opened *opened, size_t i)
{
    struct trace *trace = &opened->trace;
    trace_source_close(&opened->sources[i]);
    trace_process_clear(&trace->processes[i]);
    trace->process_count--;
    for (; i < trace->process_count; i++) {
        trace->processes[i] = trace->processes[i + 1];
        opened->sources[i] = opened->sources[i + 1];
    }
}

static bool has_run(const struct trace_process *process)
{
    return process->run[0] || process->run[1];
}

static bool is_same_run(const struct trace_process *one, const struct trace_process *other)
{
    return one->run[0] == other->run[0] && one->run[1] == other->run[1];
}

/* Of several runs, leaves the newest one. Files of processes that ended before they knew their run
 * are only read if there are no others. */
static void choose_run(struct trace_opened *opened)
{
    struct trace *trace = &opened->trace;
    size_t newest = 0;
    for (size_t i = 1; i < trace->process_count; i++) {
        const struct trace_process *process = &trace->processes[i],
                                   *other = &trace->processes[newest];
        if (has_run(process) != has_run(other) ? has_run(process)
                                               : process->started > other->started)
            newest = i;
    }
    const struct trace_process chosen = {
        .run = {trace->processes[newest].run[0], trace->processes[newest].run[1]}};
    size_t others = 0, early = 0;
    char *other = NULL, *first = NULL; /* the path of one of each */
    for (size_t i = trace->process_count; i-- > 0;) {
        const struct trace_process *process = &trace->processes[i];
        if (is_same_run(process, &chosen))
            continue;
        char **example = has_run(process) ? &other : &first;
        ++*(has_run(process) ? &others : &early);
        if (!*example)
            *example = qmpi_copy(process->file);
        remove_process(opened, i);
    }
    if (others)
        trace_warn(opened,
                   qmpi_message("there are traces of several runs: that which began last is "
                                "read; %zu files of others are not, such as %s",
                                others, other));
    if (early)
        trace_warn(opened,
                   qmpi_message("%zu files end before MPI was initialized, and are not read, "
                                "such as %s",
                                early, first));
    free(other);
    free(first);
}

static int compare_processes(const struct trace_process *one, const struct trace_process *other)
{
    const bool has_rank = one->rank >= 0;
    if (has_rank != (other->rank >= 0))
        return has_rank ? -1 : 1;
    if (has_rank && one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    return strcmp(one->file, other->file);
}

struct pair {
    struct trace_process process;
    struct trace_source source;
};

static int compare_pairs(const void *a, const void *b)
{
    return compare_processes(&((const struct pair *)a)->process,
                             &((const struct pair *)b)->process);
}

static void sort_processes(struct trace_opened *opened)
{
    struct trace *trace = &opened->trace;
    struct pair *pairs = qmpi_allocate(trace->process_count, sizeof *pairs);
    for (size_t i = 0; i < trace->process_count; i++)
        pairs[i] = (struct pair){trace->processes[i], opened->sources[i]};
    qsort(pairs, trace->process_count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < trace->process_count; i++) {
        trace->processes[i] = pairs[i].process;
        opened->sources[i] = pairs[i].source;
    }
    free(pairs);
}

/* Of two files of one rank, leaves the larger one. */
static void remove_copies(struct trace_opened *opened)
{
    struct trace *trace = &opened->trace;
    for (size_t i = trace->process_count; i-- > 1;) {
        const struct trace_process *process = &trace->processes[i];
        if (process->rank < 0 || process->rank != trace->processes[i - 1].rank)
            continue;
        const size_t removed = opened->sources[i].size > opened->sources[i - 1].size ? i - 1 : i;
        trace_warn(opened, qmpi_message("%s is of rank %d, as %s, and is not read",
                                        trace->processes[removed].file, process->rank,
                                        trace->processes[removed == i ? i - 1 : i].file));
        remove_process(opened, removed);
    }
}

static void warn_of_missing(struct trace_opened *opened)
{
    const struct trace *trace = &opened->trace;
    int ranks = 0, found = 0, missing = -1;
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_process *process = &trace->processes[i];
        if (process->ranks > ranks)
            ranks = process->ranks;
        if (process->rank < 0)
            continue;
        if (missing < 0 && process->rank != found)
            missing = found;
        found++;
    }
    if (missing < 0)
        missing = found;
    if (found && ranks - found == 1)
        trace_warn(opened, qmpi_message("the file of rank %d of %d is missing", missing, ranks));
    else if (found && ranks > found)
        trace_warn(opened,
                   qmpi_message("the files of %d of %d ranks are missing, the first of which is "
                                "rank %d",
                                ranks - found, ranks, missing));
}

void trace_choose_processes(struct trace_opened *opened)
{
    choose_run(opened);
    sort_processes(opened);
    remove_copies(opened);
    warn_of_missing(opened);
}
