/* SPDX-License-Identifier: MIT */
/* See profile.h: a result for each process, merged as those of a run are. */
#define _GNU_SOURCE
#include "trace/profile.h"

#include "trace/profile/process.h"

#include <stdlib.h>
#include <string.h>

static struct profile_result *read_process(const struct trace *trace, uint32_t process)
{
    struct process_sums *sums = malloc(sizeof *sums);
    struct profile_result *result = NULL;
    if (sums && process_sums_read(sums, trace, process))
        result = process_sums_result(sums);
    if (sums)
        process_sums_clear(sums);
    free(sums);
    return result;
}

/* Results that end with MPI_Finalize are merged as at MPI_Finalize, others as files are. */
static bool merge(struct profile_result *into, struct profile_result *from)
{
    return into->termination || from->termination ? profile_combine(into, from)
                                                  : profile_merge(into, from);
}

/* Merges in a tree: parts[i] is of 2^i processes. Takes `result`. */
enum { PARTS = 32 };
static bool add(struct profile_result **parts, struct profile_result *result)
{
    int place = 0;
    for (; place < PARTS - 1 && parts[place]; place++) {
        struct profile_result *into = parts[place];
        parts[place] = NULL;
        if (!merge(into, result)) {
            profile_result_free(into);
            return false;
        }
        result = into;
    }
    parts[place] = result;
    return true;
}

static struct profile_result *merge_all(struct profile_result **parts, bool *good)
{
    struct profile_result *all = NULL;
    for (int i = 0; i < PARTS; i++) {
        if (parts[i] && all)
            *good = merge(parts[i], all) && *good;
        all = parts[i] ? parts[i] : all;
    }
    return all;
}

struct profile_result *trace_make_profile(const struct trace *trace, char **problem)
{
    struct profile_result *parts[PARTS] = {NULL};
    bool good = trace->process_count > 0;
    *problem = NULL;
    for (uint32_t i = 0; good && i < trace->process_count; i++) {
        struct profile_result *result = read_process(trace, i);
        good = result && add(parts, result);
    }
    struct profile_result *result = merge_all(parts, &good);
    /* That of one of several processes can be merged with others, as files of single ones are. */
    if (good && !result->termination && (trace->process_count > 1 || trace->processes->ranks <= 1))
        result->rank = -1;
    if (good)
        return result;
    if (result)
        profile_result_free(result);
    *problem = strdup(trace->process_count
                          ? "out of memory\nhint: read the file of a single process"
                          : "the trace has no process\nhint: name the directory of a trace");
    return NULL;
}
