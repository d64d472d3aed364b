/* SPDX-License-Identifier: MIT */
/*
 * The module that writes archives in OTF2: see tools/trace/file/otf2.h, which declares its two
 * functions. It writes the events of each process with the numbers of that process. Then it makes
 * the global definitions from the definitions of all processes, and for each process the tables
 * that translate its numbers. If processes write an archive together, each one writes its own
 * events and tables, and the root writes the global definitions. A process that fails continues to
 * take part, so that no other process waits for it. After each step, all processes agree on whether
 * to continue.
 */
#define _GNU_SOURCE
#include "tools/trace/analysis/cuts.h"
#include "tools/trace/otf2/archive.h"
#include "tools/trace/otf2/events.h"
#include "tools/trace/otf2/plan.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "cannot write an archive: out of memory\n"
                                "hint: write it later, with qmpi trace";

static void write_no_events(struct trace_archive *archive, uint64_t location)
{
    OTF2_EvtWriter *writer =
        archive->files ? OTF2_Archive_GetEvtWriter(archive->files, location) : NULL;
    trace_archive_check(archive,
                        writer ? trace_events_write_none(writer) : OTF2_ERROR_FILE_INTERACTION);
    if (writer)
        trace_archive_check(archive, OTF2_Archive_CloseEvtWriter(archive->files, writer));
}

static void write_definitions(struct trace_archive *archive, const struct trace_plan *plan)
{
    OTF2_GlobalDefWriter *writer =
        archive->files ? OTF2_Archive_GetGlobalDefWriter(archive->files) : NULL;
    if (!writer || !trace_plan_write(plan, writer))
        archive->failed = true;
    if (writer)
        trace_archive_check(archive, OTF2_Archive_CloseGlobalDefWriter(archive->files, writer));
}

static void write_missing(struct trace_archive *archive, const struct trace_plan *plan,
                          void (*write)(struct trace_archive *archive, uint64_t location))
{
    for (size_t i = 0; i < plan->rank_count; i++) {
        if (!plan->ranks[i].part)
            write(archive, plan->ranks[i].location);
    }
}

/* ---- One process writes the archive ---------------------------------------------------------- */

static bool is_process_selected(const struct trace_cursor_selection *selection, size_t process)
{
    return !selection || !selection->processes || selection->processes[process];
}

/* Returns the part of a process. The number of the process in the archive is its rank, if that is
 * known; otherwise, number_parts assigns one. */
static struct trace_part make_part(const struct trace *trace, size_t index)
{
    const struct trace_process *process = &trace->processes[index];
    return (struct trace_part){.process = process,
                               .location =
                                   process->rank >= 0 ? (uint64_t)process->rank : UINT64_MAX,
                               .base = trace->base,
                               .end = trace->end,
                               .started = trace->started,
                               .bound = trace->bound};
}

/* Assigns unused numbers to processes that have no rank, or the rank of another process. */
static bool number_parts(struct trace_part *parts, size_t count)
{
    struct trace_map used = {0};
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new = false;
        if (parts[i].location != UINT64_MAX)
            trace_map_add(&used, &parts[i].location, sizeof parts[i].location, &is_new);
        if (!is_new)
            parts[i].location = UINT64_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_new = parts[i].location != UINT64_MAX;
        while (!is_new && !used.failed) {
            parts[i].location = next++;
            trace_map_add(&used, &parts[i].location, sizeof next, &is_new);
        }
    }
    const bool good = !used.failed;
    trace_map_clear(&used);
    return good;
}

/* ---- A window of time ------------------------------------------------------------------------ */

/* What must be known about the events that are written. Messages and collectives that are only
 * partly in a window of time are left out, because readers would count them. The view finds the
 * sizes of messages whose receivers do not know them. */
struct window {
    struct trace_view view;
    struct trace_cuts cuts;
    bool is_limited; /* the selection has a begin or an end */
};

static bool trace_may_lack_sizes(const struct trace *trace)
{
    for (size_t i = 0; i < trace->process_count; i++) {
        if (trace_messages_may_lack_sizes(&trace->processes[i]))
            return true;
    }
    return false;
}

/* Opens the view and finds the cuts, if they are needed. Returns false if memory is exhausted or a
 * file cannot be read. The caller frees the window in any case. */
static bool find_window(struct window *window, const struct trace *trace,
                        const struct trace_cursor_selection *selection)
{
    *window =
        (struct window){.is_limited = selection && (selection->has_begin || selection->has_end)};
    if (!window->is_limited && !trace_may_lack_sizes(trace))
        return true;
    return trace_view_open(&window->view, trace, selection) &&
           (!window->is_limited || trace_cuts_find(&window->cuts, &window->view));
}

static void free_window(struct window *window)
{
    if (window->view.trace)
        trace_view_close(&window->view);
    trace_cuts_free(&window->cuts);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_parts(struct trace_archive *archive, const struct trace *trace,
                        const struct trace_cursor_selection *selection, struct trace_part *parts,
                        size_t count, const struct window *window)
{
    struct trace_plan plan;
    trace_archive_open_events(archive);
    for (size_t i = 0; i < count && !archive->failed; i++) {
        const struct trace_events_source source = {trace,
                                                   (uint32_t)(parts[i].process - trace->processes),
                                                   selection,
                                                   0,
                                                   archive->directory,
                                                   window->view.trace ? &window->view : NULL,
                                                   window->is_limited ? &window->cuts : NULL};
        trace_archive_check(archive, trace_part_prepare(&parts[i])
                                         ? trace_events_write(archive->files, &source, &parts[i])
                                         : OTF2_ERROR_MEM_ALLOC_FAILED);
    }
    if (archive->failed) {
        trace_archive_abandon(archive);
        return;
    }
    trace_plan_make(&plan, parts, count);
    archive->failed |= plan.failed;
    if (!archive->failed) {
        write_missing(archive, &plan, write_no_events);
        trace_archive_close_events(archive);
        trace_archive_open_locals(archive);
        for (size_t i = 0; i < count; i++)
            trace_archive_write_locals(archive, &parts[i], &plan.tables[i]);
        write_missing(archive, &plan, trace_archive_write_empty);
        trace_archive_close_locals(archive);
        write_definitions(archive, &plan);
    }
    trace_plan_clear(&plan);
}

/* Returns the message that the events cannot be read, or NULL if memory is exhausted. */
static char *explain_reading(const struct trace *trace)
{
    const int error = trace_reader_error(trace);
    return error ? qmpi_message("cannot write an archive: a file of the trace cannot be read: %s\n"
                                "hint: check that the files are still there, and `ulimit -n`",
                                strerror(error))
                 : NULL;
}

static bool write_alone(const struct trace *trace, const char *directory,
                        const struct trace_cursor_selection *selection, char **problem)
{
    struct trace_part *parts = calloc(trace->process_count + 1, sizeof *parts);
    struct trace_archive archive;
    size_t count = 0;
    *problem = NULL;
    for (size_t i = 0; parts && i < trace->process_count; i++) {
        if (is_process_selected(selection, i))
            parts[count++] = make_part(trace, i);
    }
    struct window window;
    if (!find_window(&window, trace, selection) || !parts || !number_parts(parts, count)) {
        *problem = explain_reading(trace);
        free_window(&window);
        free(parts);
        return false;
    }
    bool good = trace_archive_make_room(directory, problem);
    if (good) {
        trace_archive_open(&archive, directory, NULL);
        if (!archive.failed && trace_archive_start(&archive))
            write_parts(&archive, trace, selection, parts, count, &window);
        good = trace_archive_close(&archive, problem);
        if (!good)
            trace_archive_remove(directory);
    }
    for (size_t i = 0; i < count; i++)
        trace_part_clear(&parts[i]);
    free_window(&window);
    free(parts);
    return good;
}

/* ---- Processes write an archive together ----------------------------------------------------- */

struct joint {
    const struct trace_otf2_group *group;
    struct trace *trace; /* the trace of this process, or NULL */
    struct trace_archive archive;
    struct trace_part part;
    struct trace_part_tables tables;
    /* The following six members are set only in the root. */
    size_t *sizes;      /* room for a size for each process */
    int64_t *gathered;  /* room for a number from each process */
    size_t *part_sizes; /* the sizes of the packed parts */
    struct trace_process *processes;
    struct trace_part *parts;
    struct trace_plan plan;

    char **problem;
    bool good; /* this process has not failed so far */
};

static bool is_root_process(const struct joint *it)
{
    return it->group->rank == 0;
}

static void fail_joint(struct joint *it, const char *problem)
{
    if (!*it->problem)
        *it->problem = strdup(problem);
    it->good = false;
}

/* ---- Transfer -------------------------------------------------------------------------------- */

static size_t sum_sizes(const size_t *sizes, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += sizes[i];
    return sum;
}

/* Sets it->sizes to the same size for each process. */
static void set_equal_sizes(struct joint *it, size_t size)
{
    for (int i = 0; it->sizes && i < it->group->size; i++)
        it->sizes[i] = size;
}

/* Gathers `size` bytes from each process in the root. */
static bool gather_equal(struct joint *it, const void *data, size_t size, void *all)
{
    set_equal_sizes(it, size);
    return it->group->gather(it->group->context, data, size, all, it->sizes);
}

/* Scatters `size` bytes to each process from the root. */
static bool scatter_equal(struct joint *it, const void *all, void *data, size_t size)
{
    set_equal_sizes(it, size);
    return it->group->scatter(it->group->context, all, it->sizes, data, size);
}

/* Allocates what the root needs. Returns whether the root has this memory. Collective. */
static bool allocate_in_root(struct joint *it)
{
    const struct trace_otf2_group *group = it->group;
    unsigned char has_memory = 0;
    if (is_root_process(it)) {
        const size_t count = (size_t)group->size;
        it->sizes = calloc(count, sizeof *it->sizes);
        it->gathered = calloc(count, sizeof *it->gathered);
        it->part_sizes = calloc(count, sizeof *it->part_sizes);
        it->parts = calloc(count, sizeof *it->parts);
        it->processes = calloc(count, sizeof *it->processes);
        has_memory = it->sizes && it->gathered && it->part_sizes && it->parts && it->processes;
        if (!has_memory)
            fail_joint(it, no_memory);
    }
    return group->broadcast(group->context, &has_memory, sizeof has_memory) && has_memory;
}

/* Returns whether no process has failed so far. Collective. */
static bool agree_to_go_on(struct joint *it)
{
    const struct trace_otf2_group *group = it->group;
    const int64_t mine = it->good;
    bool good = gather_equal(it, &mine, sizeof mine, it->gathered);
    unsigned char all_good = 1;
    for (int i = 0; it->gathered && i < group->size; i++)
        all_good &= it->gathered[i] != 0;
    good = group->broadcast(group->context, &all_good, sizeof all_good) && good;
    if (!good)
        fail_joint(it, "cannot write an archive: the processes cannot communicate\n"
                       "hint: write it later, with qmpi trace");
    return good && all_good;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Finds the time at which the archive begins, which is that of the earliest event of all processes.
 * Collective. */
static bool find_begin(struct joint *it, int64_t *begin)
{
    const struct trace_otf2_group *group = it->group;
    const int64_t mine = it->trace ? it->trace->base : INT64_MAX;
    const bool good = gather_equal(it, &mine, sizeof mine, it->gathered);
    *begin = INT64_MAX;
    for (int i = 0; it->gathered && i < group->size; i++)
        *begin = it->gathered[i] < *begin ? it->gathered[i] : *begin;
    return group->broadcast(group->context, begin, sizeof *begin) && good;
}

static void read_joint_file(struct joint *it, const char *file)
{
    it->part.location = (uint64_t)it->group->rank;
    it->trace = file ? trace_reader_open_in_program(file, it->problem) : NULL;
    it->good = !file || it->trace;
    if (it->trace && it->trace->process_count) {
        it->part.process = &it->trace->processes[0];
        it->part.base = it->trace->base;
        it->part.end = it->trace->end;
        it->part.started = it->trace->started;
        it->part.bound = it->trace->bound;
    }
    if (!trace_part_prepare(&it->part))
        fail_joint(it, no_memory);
}

static void write_joint_events(struct joint *it, int64_t begin)
{
    struct trace_archive *archive = &it->archive;
    if (it->part.process) {
        const struct trace_events_source source = {
            it->trace,          0,    NULL, trace_clock_subtract(begin, it->part.base),
            archive->directory, NULL, NULL};
        trace_archive_check(archive, trace_events_write(archive->files, &source, &it->part));
    } else {
        write_no_events(archive, it->part.location);
        if (it->part.events)
            it->part.events[0] = 1;
    }
    it->good &= !archive->failed;
}

/* Gathers the parts of all processes in the root. Returns whether no process had failed before. */
static bool gather_parts(struct joint *it)
{
    const struct trace_otf2_group *group = it->group;
    struct trace_bytes mine = {0};
    it->good &= trace_part_pack(&it->part, &mine);
    const size_t size = it->good ? mine.size : 0, count = (size_t)group->size;
    const size_t *sizes = it->part_sizes;
    it->good &= gather_equal(it, &size, sizeof size, it->part_sizes);
    unsigned char *all = sizes ? malloc(sum_sizes(sizes, group->size) + 1) : NULL;
    it->good &= !is_root_process(it) || all;
    /* If the root has no memory for the parts, the others must not send them. */
    const bool agreed = agree_to_go_on(it);
    if (agreed) {
        it->good &= group->gather(group->context, mine.data, size, all, sizes);
        const unsigned char *next = all;
        for (size_t i = 0; all && i < count; i++) {
            it->good &= trace_part_unpack(next, sizes[i], &it->parts[i], &it->processes[i]);
            next += sizes[i];
        }
    }
    free(all);
    trace_bytes_free(&mine);
    return agreed;
}

/* Scatters the tables from the root to all processes. */
static void scatter_tables(struct joint *it)
{
    const struct trace_otf2_group *group = it->group;
    struct trace_bytes all = {0};
    size_t *sizes = is_root_process(it) ? calloc((size_t)group->size, sizeof *sizes) : NULL,
           size = 0;
    it->good &= !is_root_process(it) || sizes;
    for (int i = 0; sizes && it->good && i < group->size; i++) {
        const size_t before = all.size;
        it->good = trace_part_pack_tables(&it->plan.tables[i], &all);
        sizes[i] = all.size - before;
    }
    if (agree_to_go_on(it)) {
        it->good &= scatter_equal(it, sizes, &size, sizeof size);
        unsigned char *mine = malloc(size + 1);
        it->good &= mine != NULL;
        if (agree_to_go_on(it))
            it->good &= group->scatter(group->context, all.data, sizes, mine, size) &&
                        trace_part_unpack_tables(mine, size, &it->tables);
        free(mine);
    }
    free(sizes);
    trace_bytes_free(&all);
}

static void write_joint_definitions(struct joint *it)
{
    struct trace_archive *archive = &it->archive;
    if (gather_parts(it) && is_root_process(it) && it->good) {
        trace_plan_make(&it->plan, it->parts, (size_t)it->group->size);
        it->good = !it->plan.failed;
        if (it->good)
            write_missing(archive, &it->plan, write_no_events);
    }
    if (agree_to_go_on(it))
        scatter_tables(it);
    trace_archive_close_events(archive);
    it->good &= !archive->failed;
    if (!agree_to_go_on(it))
        return;
    trace_archive_open_locals(archive);
    trace_archive_write_locals(archive, &it->part, &it->tables);
    if (is_root_process(it))
        write_missing(archive, &it->plan, trace_archive_write_empty);
    trace_archive_close_locals(archive);
    if (is_root_process(it))
        write_definitions(archive, &it->plan);
}

static void write_joint_archive(struct joint *it, const char *directory)
{
    int64_t begin;
    if (is_root_process(it))
        it->good &= trace_archive_make_room(directory, it->problem);
    it->good &= find_begin(it, &begin);
    if (!agree_to_go_on(it))
        return;
    trace_archive_open(&it->archive, directory, it->group);
    it->good = !it->archive.failed;
    if (agree_to_go_on(it) && trace_archive_start(&it->archive)) {
        trace_archive_open_events(&it->archive);
        write_joint_events(it, begin);
        if (agree_to_go_on(it))
            write_joint_definitions(it);
        else
            trace_archive_abandon(&it->archive);
    }
    char *problem = NULL;
    it->good &= trace_archive_close(&it->archive, &problem);
    if (problem && !*it->problem)
        *it->problem = problem;
    else
        free(problem);
}

/* ---- All steps ------------------------------------------------------------------------------- */

static void clear_joint(struct joint *it)
{
    trace_plan_clear(&it->plan);
    for (int i = 0; it->parts && it->processes && i < it->group->size; i++) {
        trace_part_clear(&it->parts[i]);
        trace_definitions_clear(&it->processes[i]);
    }
    free(it->parts);
    free(it->processes);
    free(it->sizes);
    free(it->gathered);
    free(it->part_sizes);
    trace_part_clear(&it->part);
    trace_part_clear_tables(&it->tables);
    if (it->trace)
        trace_reader_close(it->trace);
}

static bool write_together(const struct trace_otf2_group *group, const char *file,
                           const char *directory, char **problem)
{
    struct joint it = {.group = group, .problem = problem};
    *problem = NULL;
    if (!allocate_in_root(&it)) {
        clear_joint(&it);
        return false;
    }
    read_joint_file(&it, file);
    write_joint_archive(&it, directory);
    const bool good = agree_to_go_on(&it);
    if (!good && is_root_process(&it)) {
        trace_archive_remove(directory);
        fail_joint(&it, "no archive was written, because a process could not write its part\n"
                        "hint: see its message; qmpi trace --to otf2 makes an archive of what was "
                        "recorded");
    }
    if (!good && !it.good && !*problem)
        fail_joint(&it, no_memory);
    if (good && *problem) {
        free(*problem);
        *problem = NULL;
    }
    clear_joint(&it);
    return good;
}

/* ---- The library ----------------------------------------------------------------------------- */

QMPI_API trace_otf2_finder trace_otf2_find;

const struct trace_otf2 *trace_otf2_find(void)
{
    static const struct trace_otf2 functions = {.write = write_alone,
                                                .write_together = write_together};
    return &functions;
}
