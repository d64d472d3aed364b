/* SPDX-License-Identifier: MIT */
/* See process_report.h. */
#define _GNU_SOURCE
#include "save/process_report.h"

#include "collect/snapshot.h"
#include "profile/profile.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Names ----------------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && !strcmp(text + length - end_length, end);
}

/* Another layer that names no file either would write this one's. */
static bool is_only_nameless(const struct layer *layer)
{
    for (const struct layer *other = profile_layers; other; other = other->next) {
        if (other != layer && !other->options.output)
            return false;
    }
    return true;
}

/* A program may go to another directory; its files stay where it was at its first MPI call. */
static char *in_first_folder(const struct layer *layer, char *name)
{
    char *here = getcwd(NULL, 0), *path = NULL;
    const bool moved = layer->folder && (!here || strcmp(here, layer->folder));
    free(here);
    if (!name || *name == '/' || !moved)
        return name;
    if (asprintf(&path, "%s/%s", layer->folder, name) < 0)
        path = NULL;
    free(name);
    return path;
}

/* `number` of a snapshot; 0: of the process's end. NULL: memory is out. */
static char *process_file_name(const struct layer *layer, int number)
{
    const char *pattern = layer->options.output;
    if (!pattern)
        pattern = is_only_nameless(layer) ? "qmpi-profile.%r.json" : "qmpi-profile.%t.%r.json";
    char *name = tool_file_name(pattern, layer->tool_id, layer->rank), *process_name = NULL;
    if (!name)
        return NULL;
    if (tool_file_name_is_special(name))
        return in_first_folder(layer, name);
    const bool shared = !tool_file_name_is_per_process(pattern);
    const bool as_given = layer->options.format == PROFILE_JSON || ends_in(pattern, ".json");
    const char *suffix = as_given ? "" : ".json";
    char rank[16] = "", snapshot[32] = "";
    if (shared)
        snprintf(rank, sizeof rank, ".%d", layer->rank);
    if (number)
        snprintf(snapshot, sizeof snapshot, ".snapshot-%d", number);
    if (asprintf(&process_name, "%s%s%s%s", name, rank, snapshot, suffix) < 0)
        process_name = NULL;
    free(name);
    return in_first_folder(layer, process_name);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static int find_places(const struct profile_result *result, const struct profile_frame *frame,
                       struct profile_frame **places)
{
    const QMPIX_Address *found;
    (void)result;
    if (QMPIX_Library_describe(frame->module, frame->offset, &found) || !found->frame_count)
        return 0;
    *places = calloc((size_t)found->frame_count, sizeof **places);
    for (int i = 0; *places && i < found->frame_count; i++)
        (*places)[i] = (struct profile_frame){.function = copy(found->frames[i].function),
                                              .file = copy(found->frames[i].file),
                                              .line = found->frames[i].line};
    return *places ? found->frame_count : 0;
}

/* Nothing that follows needs the memory of both. */
static void resolve(struct profile_result *result)
{
    profile_frames_resolve(result, find_places);
    QMPIX_Debug_info_release();
}

static bool write_to(const struct layer *layer, const struct profile_result *result,
                     const char *path, char **problem)
{
    *problem = NULL;
    switch (layer->options.format) {
    case PROFILE_JSON:
        return profile_write_json(result, path, problem);
    case PROFILE_CSV:
        return profile_write_csv(result, path, problem);
    case PROFILE_HTML:
        return layer->options.write_page(result, path, problem);
    default:
        return profile_write_text(result, path, layer->options.top, problem);
    }
}

static void print_table(const struct layer *layer, const struct profile_result *result)
{
    char *problem = NULL;
    if (!profile_write_text(result, NULL, layer->options.top, &problem))
        qmpi_printf("profile (layer %d): %s", layer->tool_id, problem ? problem : "out of memory");
    free(problem);
}

void process_write_all(struct layer *layer, struct profile_result *result)
{
    char *problem = NULL;
    char *path = layer->options.output
                     ? in_first_folder(layer, tool_file_name(layer->options.output, layer->tool_id,
                                                             layer->rank))
                     : NULL;
    result->rank = -1;
    free(result->termination);
    result->termination = NULL;
    profile_result_sort(result, PROFILE_BY_TIME);
    resolve(result);
    if (!layer->options.output) {
        print_table(layer, result);
    } else if (!path || !write_to(layer, result, path, &problem)) {
        qmpi_printf("profile (layer %d): %s\n  printing the table instead\n"
                    "  hint: use output=FILE to name a file that can be written",
                    layer->tool_id, problem ? problem : "out of memory");
        print_table(layer, result);
    }
    free(problem);
    free(path);
    profile_result_free(result);
}

/* ---- This process alone ---------------------------------------------------------------------- */

enum care {
    IN_FULL,    /* with symbols */
    IN_PASSING, /* the program goes on meanwhile */
    CRASHED     /* anything may be held or broken */
};

/* Where it fails *problem says why, to be freed; NULL: memory is out. The table of one that ends in
 * order goes to stderr then, but not those of many ranks. */
static bool process_write(struct layer *layer, const char *path, const char *termination,
                          enum care care, char **problem)
{
    *problem = NULL;
    struct profile_result *result = build_result(layer, termination, care == CRASHED);
    if (!result)
        return false;
    profile_result_sort(result, PROFILE_BY_TIME);
    if (care == IN_FULL)
        resolve(result);
    const bool good = path && profile_write_json(result, path, problem);
    if (!good && care == IN_FULL && layer->rank == 0)
        print_table(layer, result);
    profile_result_free(result);
    return good;
}

void process_leave(struct layer *layer, const char *termination, bool crashed)
{
    char *problem;
    if (atomic_exchange(&layer->reported, true) || !atomic_load(&layer->was_on))
        return;
    char *path = process_file_name(layer, 0);
    if (process_write(layer, path, termination, crashed ? CRASHED : IN_FULL, &problem))
        qmpi_printf(
            "profile (layer %d): rank %d ended without MPI_Finalize (%s); its data is in %s",
            layer->tool_id, layer->rank, termination, path);
    else
        qmpi_printf(
            "profile (layer %d): rank %d ended without MPI_Finalize (%s), and its data cannot be "
            "saved: %s\n  hint: use output=FILE to name a file that can be written",
            layer->tool_id, layer->rank, termination, problem ? problem : "out of memory");
    free(problem);
    free(path);
}

/* It has come to no MPI_Finalize, but needed none. */
void process_end_sessions(struct layer *layer)
{
    char *problem;
    if (atomic_exchange(&layer->reported, true) || !atomic_load(&layer->was_on))
        return;
    char *path = process_file_name(layer, 0);
    if (!process_write(layer, path, PROFILE_SESSIONS_ENDED, IN_FULL, &problem))
        qmpi_printf("profile (layer %d): rank %d: its data cannot be saved: %s\n  hint: use "
                    "output=FILE to name a file that can be written",
                    layer->tool_id, layer->rank, problem ? problem : "out of memory");
    else if (!layer->options.output)
        qmpi_printf("profile (layer %d): rank %d: its data is in %s", layer->tool_id, layer->rank,
                    path);
    free(problem);
    free(path);
}

void process_snapshot(struct layer *layer)
{
    char *problem;
    if (!atomic_load(&layer->was_on))
        return;
    char *path = process_file_name(layer, atomic_fetch_add(&layer->snapshots, 1) + 1);
    if (process_write(layer, path, "MPI_Pcontrol", IN_PASSING, &problem))
        qmpi_printf("profile (layer %d): rank %d: MPI_Pcontrol(2): written to %s", layer->tool_id,
                    layer->rank, path);
    else
        qmpi_printf("profile (layer %d): rank %d: MPI_Pcontrol(2): %s", layer->tool_id, layer->rank,
                    problem ? problem : "out of memory");
    free(problem);
    free(path);
}

/* Said once: the next one may find room again. */
void process_checkpoint(struct layer *layer)
{
    char *problem;
    if (!atomic_load(&layer->was_on))
        return;
    char *path = process_file_name(layer, 0);
    if (process_write(layer, path, "checkpoint", IN_PASSING, &problem))
        layer->saved = true;
    else if (!layer->warned) {
        layer->warned = true;
        qmpi_printf("profile (layer %d): rank %d: no checkpoint: %s", layer->tool_id, layer->rank,
                    problem ? problem : "out of memory");
    }
    free(problem);
    free(path);
}

void process_remove_checkpoint(struct layer *layer)
{
    char *path = layer->saved ? process_file_name(layer, 0) : NULL;
    if (path)
        unlink(path);
    free(path);
    layer->saved = false;
}
