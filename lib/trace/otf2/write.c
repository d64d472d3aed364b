/* SPDX-License-Identifier: MIT */
/*
 * Writes an archive: the events of each process with its own numbers; then, from what is known of
 * all processes, the global definitions, and for each process the tables that translate its
 * numbers.
 */
#define _GNU_SOURCE
#include "trace/otf2/write.h"
#define _GNU_SOURCE
#include "trace/otf2/archive.h"
#include "trace/otf2/events.h"
#include "trace/otf2/plan.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

const char archive_no_memory[] = "cannot write an archive: out of memory\n"
                                 "hint: write it later, with qmpi trace";

void archive_write_no_events(struct archive *archive, uint64_t location)
{
    OTF2_EvtWriter *writer =
        archive->files ? OTF2_Archive_GetEvtWriter(archive->files, location) : NULL;
    archive_check(archive, writer ? archive_write_nothing(writer) : OTF2_ERROR_FILE_INTERACTION);
    if (writer)
        archive_check(archive, OTF2_Archive_CloseEvtWriter(archive->files, writer));
}

void archive_write_common(struct archive *archive, const struct archive_plan *plan)
{
    OTF2_GlobalDefWriter *writer =
        archive->files ? OTF2_Archive_GetGlobalDefWriter(archive->files) : NULL;
    if (!writer || !archive_write_definitions(plan, writer))
        archive->failed = true;
    if (writer)
        archive_check(archive, OTF2_Archive_CloseGlobalDefWriter(archive->files, writer));
}

void archive_write_missing(struct archive *archive, const struct archive_plan *plan,
                           void (*write)(struct archive *archive, uint64_t location))
{
    for (size_t i = 0; i < plan->rank_count; i++) {
        if (!plan->ranks[i].part)
            write(archive, plan->ranks[i].location);
    }
}

/* ---- All ------------------------------------------------------------------------------------- */

static bool is_wanted(const struct trace_selection *selection, size_t process)
{
    return !selection || !selection->processes || selection->processes[process];
}

/* The number of a process in the archive is its rank, where that is known. */
static struct archive_part make_part(const struct trace *trace, size_t index)
{
    const struct trace_process *process = &trace->processes[index];
    return (struct archive_part){.process = process,
                                 .location =
                                     process->rank >= 0 ? (uint64_t)process->rank : UINT64_MAX,
                                 .base = trace->base,
                                 .end = trace->end,
                                 .started = trace->started,
                                 .bound = trace->bound};
}

/* Numbers that no process has, for those without a rank or with the rank of another one. */
static bool number_parts(struct archive_part *parts, size_t count)
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

static void write_parts(struct archive *archive, const struct trace *trace,
                        const struct trace_selection *selection, struct archive_part *parts,
                        size_t count)
{
    struct archive_plan plan;
    archive_open_events(archive);
    for (size_t i = 0; i < count && !archive->failed; i++) {
        const struct archive_source source = {trace,
                                              (uint32_t)(parts[i].process - trace->processes),
                                              selection, 0, archive->directory};
        archive_check(archive, archive_part_prepare(&parts[i])
                                   ? archive_write_events(archive->files, &source, &parts[i])
                                   : OTF2_ERROR_MEM_ALLOC_FAILED);
    }
    if (archive->failed) {
        archive_abandon(archive);
        return;
    }
    archive_plan_make(&plan, parts, count);
    archive->failed |= plan.failed;
    if (!archive->failed) {
        archive_write_missing(archive, &plan, archive_write_no_events);
        archive_close_events(archive);
        archive_open_locals(archive);
        for (size_t i = 0; i < count; i++)
            archive_write_locals(archive, &parts[i], &plan.tables[i]);
        archive_write_missing(archive, &plan, archive_write_empty);
        archive_close_locals(archive);
        archive_write_common(archive, &plan);
    }
    archive_plan_clear(&plan);
}

bool archive_write(const struct trace *trace, const char *directory,
                   const struct trace_selection *selection, char **problem)
{
    struct archive_part *parts = calloc(trace->process_count + 1, sizeof *parts);
    struct archive archive;
    size_t count = 0;
    *problem = NULL;
    for (size_t i = 0; parts && i < trace->process_count; i++) {
        if (is_wanted(selection, i))
            parts[count++] = make_part(trace, i);
    }
    if (!parts || !number_parts(parts, count)) {
        *problem = strdup(archive_no_memory);
        free(parts);
        return false;
    }
    bool good = archive_make_room(directory, problem);
    if (good) {
        archive_open(&archive, directory, NULL);
        if (!archive.failed && archive_start(&archive))
            write_parts(&archive, trace, selection, parts, count);
        good = archive_close(&archive, problem);
        if (!good)
            archive_remove(directory);
    }
    for (size_t i = 0; i < count; i++)
        archive_part_clear(&parts[i]);
    free(parts);
    return good;
}
