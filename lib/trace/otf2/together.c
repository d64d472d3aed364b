/* SPDX-License-Identifier: MIT */
/*
 * Processes write an archive together: each its own events and tables, the root the global
 * definitions, which are made of the definitions of all. A process that fails takes part to the
 * end, so that no other one waits for it; after each step, all agree on whether to go on.
 */
#define _GNU_SOURCE
#include "trace/otf2/archive.h"
#include "trace/otf2/events.h"
#include "trace/otf2/plan.h"
#include "trace/otf2/write.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct joint {
    const struct trace_otf2_group *group;
    struct trace *trace; /* of this process; NULL: none */
    struct archive archive;
    struct archive_part part;
    struct archive_tables tables;
    /* Of the root: */
    struct trace_process *processes;
    struct archive_part *parts;
    struct archive_plan plan;
    char **problem;
    bool good; /* of this process, so far */
};

static bool is_root(const struct joint *it)
{
    return it->group->rank == 0;
}

static void fail(struct joint *it, const char *problem)
{
    if (!*it->problem)
        *it->problem = strdup(problem);
    it->good = false;
}

/* ---- Transfer -------------------------------------------------------------------------------- */

static size_t add_sizes(const size_t *sizes, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += sizes[i];
    return sum;
}

/* The root gets `size` bytes of each process. */
static bool gather_equal(const struct trace_otf2_group *group, const void *data, size_t size,
                         void *all)
{
    size_t *sizes = group->rank == 0 ? calloc((size_t)group->size, sizeof *sizes) : NULL;
    for (int i = 0; sizes && i < group->size; i++)
        sizes[i] = size;
    const bool good = group->gather(group->context, data, size, all, sizes);
    free(sizes);
    return good;
}

static bool scatter_equal(const struct trace_otf2_group *group, const void *all, void *data,
                          size_t size)
{
    size_t *sizes = group->rank == 0 ? calloc((size_t)group->size, sizeof *sizes) : NULL;
    for (int i = 0; sizes && i < group->size; i++)
        sizes[i] = size;
    const bool good = group->scatter(group->context, all, sizes, data, size);
    free(sizes);
    return good;
}

/* Whether all processes have come so far. */
static bool agree(struct joint *it)
{
    const struct trace_otf2_group *group = it->group;
    unsigned char mine = it->good, all_good = 0;
    unsigned char *all = is_root(it) ? calloc((size_t)group->size, 1) : NULL;
    bool good = gather_equal(group, &mine, sizeof mine, all);
    if (all) {
        all_good = 1;
        for (int i = 0; i < group->size; i++)
            all_good &= all[i];
    }
    free(all);
    good = group->broadcast(group->context, &all_good, sizeof all_good) && good;
    if (!good)
        fail(it, "cannot write an archive: the processes cannot communicate\n"
                 "hint: write it later, with qmpi trace");
    return good && all_good;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* The beginning of the archive: that of the process which recorded first. */
static bool find_begin(struct joint *it, int64_t *begin)
{
    const struct trace_otf2_group *group = it->group;
    int64_t mine = it->trace ? it->trace->base : INT64_MAX;
    int64_t *all = is_root(it) ? calloc((size_t)group->size, sizeof *all) : NULL;
    bool good = gather_equal(group, &mine, sizeof mine, all);
    *begin = INT64_MAX;
    for (int i = 0; all && i < group->size; i++)
        *begin = all[i] < *begin ? all[i] : *begin;
    good = group->broadcast(group->context, begin, sizeof *begin) && good && (all || !is_root(it));
    free(all);
    return good;
}

static void read_file(struct joint *it, const char *file)
{
    it->part.location = (uint64_t)it->group->rank;
    it->trace = file ? trace_open(file, it->problem) : NULL;
    it->good = !file || it->trace;
    if (it->trace && it->trace->process_count) {
        it->part.process = &it->trace->processes[0];
        it->part.base = it->trace->base;
        it->part.end = it->trace->end;
        it->part.started = it->trace->started;
        it->part.bound = it->trace->bound;
    }
    if (!archive_part_prepare(&it->part))
        fail(it, archive_no_memory);
}

static void write_events(struct joint *it, int64_t begin)
{
    struct archive *archive = &it->archive;
    if (it->part.process) {
        const struct archive_source source = {
            it->trace, 0, NULL, archive_subtract_times(begin, it->part.base), archive->directory};
        archive_check(archive, archive_write_events(archive->files, &source, &it->part));
    } else {
        archive_write_no_events(archive, it->part.location);
        if (it->part.events)
            it->part.events[0] = 1;
    }
    it->good &= !archive->failed;
}

/* The root gets the parts of all. */
static void gather_parts(struct joint *it)
{
    const struct trace_otf2_group *group = it->group;
    struct trace_bytes mine = {0};
    it->good &= archive_part_pack(&it->part, &mine);
    const size_t size = it->good ? mine.size : 0, count = (size_t)group->size;
    size_t *sizes = is_root(it) ? calloc(count, sizeof *sizes) : NULL;
    it->good &= gather_equal(group, &size, sizeof size, sizes);
    unsigned char *all = sizes ? malloc(add_sizes(sizes, group->size) + 1) : NULL;
    it->good &= !is_root(it) || all;
    /* Where the root has no memory for them, the others must not send. */
    if (agree(it)) {
        it->good &= group->gather(group->context, mine.data, size, all, sizes);
        const unsigned char *next = all;
        for (size_t i = 0; all && i < count; i++) {
            it->good &= archive_part_unpack(next, sizes[i], &it->parts[i], &it->processes[i]);
            next += sizes[i];
        }
    } else {
        it->good = false;
    }
    free(all);
    free(sizes);
    trace_bytes_free(&mine);
}

/* All get their tables from the root. */
static void scatter_tables(struct joint *it)
{
    const struct trace_otf2_group *group = it->group;
    struct trace_bytes all = {0};
    size_t *sizes = is_root(it) ? calloc((size_t)group->size, sizeof *sizes) : NULL, size = 0;
    it->good &= !is_root(it) || sizes;
    for (int i = 0; sizes && it->good && i < group->size; i++) {
        const size_t before = all.size;
        it->good = archive_tables_pack(&it->plan.tables[i], &all);
        sizes[i] = all.size - before;
    }
    if (agree(it)) {
        it->good &= scatter_equal(group, sizes, &size, sizeof size);
        unsigned char *mine = malloc(size + 1);
        it->good &= mine != NULL;
        if (agree(it))
            it->good &= group->scatter(group->context, all.data, sizes, mine, size) &&
                        archive_tables_unpack(mine, size, &it->tables);
        free(mine);
    }
    free(sizes);
    trace_bytes_free(&all);
}

static void write_definitions(struct joint *it)
{
    struct archive *archive = &it->archive;
    gather_parts(it);
    if (is_root(it) && it->good) {
        archive_plan_make(&it->plan, it->parts, (size_t)it->group->size);
        it->good = !it->plan.failed;
        if (it->good)
            archive_write_missing(archive, &it->plan, archive_write_no_events);
    }
    if (agree(it))
        scatter_tables(it);
    archive_close_events(archive);
    it->good &= !archive->failed;
    if (!agree(it))
        return;
    archive_open_locals(archive);
    archive_write_locals(archive, &it->part, &it->tables);
    if (is_root(it))
        archive_write_missing(archive, &it->plan, archive_write_empty);
    archive_close_locals(archive);
    if (is_root(it))
        archive_write_common(archive, &it->plan);
}

static void write_archive(struct joint *it, const char *directory)
{
    int64_t begin;
    if (is_root(it))
        it->good &= archive_make_room(directory, it->problem);
    it->good &= find_begin(it, &begin);
    if (!agree(it)) {
        it->good = false;
        return;
    }
    archive_open(&it->archive, directory, it->group);
    it->good = !it->archive.failed;
    if (agree(it) && archive_start(&it->archive)) {
        archive_open_events(&it->archive);
        write_events(it, begin);
        if (agree(it))
            write_definitions(it);
        else
            archive_abandon(&it->archive);
    }
    char *problem = NULL;
    it->good &= archive_close(&it->archive, &problem);
    if (problem && !*it->problem)
        *it->problem = problem;
    else
        free(problem);
}

/* ---- All ------------------------------------------------------------------------------------- */

static void clear(struct joint *it)
{
    archive_plan_clear(&it->plan);
    for (int i = 0; it->parts && it->processes && i < it->group->size; i++) {
        archive_part_clear(&it->parts[i]);
        trace_process_clear(&it->processes[i]);
    }
    free(it->parts);
    free(it->processes);
    archive_part_clear(&it->part);
    archive_tables_clear(&it->tables);
    if (it->trace)
        trace_close(it->trace);
}

bool archive_write_together(const struct trace_otf2_group *group, const char *file,
                            const char *directory, char **problem)
{
    struct joint it = {.group = group, .problem = problem};
    *problem = NULL;
    read_file(&it, file);
    if (is_root(&it)) {
        it.parts = calloc((size_t)group->size, sizeof *it.parts);
        it.processes = calloc((size_t)group->size, sizeof *it.processes);
        if (!it.parts || !it.processes)
            fail(&it, archive_no_memory);
    }
    write_archive(&it, directory);
    const bool good = agree(&it);
    if (!good && is_root(&it)) {
        archive_remove(directory);
        fail(&it, "no archive was written, because a process could not write its part\n"
                  "hint: see its message; qmpi trace --to otf2 makes an archive of what was "
                  "recorded");
    }
    if (!good && !it.good && !*problem)
        fail(&it, archive_no_memory);
    if (good && *problem) {
        free(*problem);
        *problem = NULL;
    }
    clear(&it);
    return good;
}
