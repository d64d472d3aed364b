/* SPDX-License-Identifier: MIT */
/* See formats.h. */
#define _GNU_SOURCE
#include "tools/trace/save/formats.h"

#include "tools/trace/layer.h"
#include "tools/trace/save/matching.h"
#include "tools/trace/write/writer.h"
#include "util/util.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A group of processes, for the archive --------------------------------------------------- */

static bool comm_barrier(void *context)
{
    const MPI_Comm *comm = context;
    return PMPI_Barrier(*comm) == MPI_SUCCESS;
}

static bool comm_broadcast(void *context, void *data, size_t size)
{
    return tool_world_broadcast(*(const MPI_Comm *)context, data, size);
}

static int size_of(MPI_Comm comm)
{
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return size;
}

static bool comm_gather(void *context, const void *data, size_t size, void *all,
                        const size_t *sizes)
{
    const MPI_Comm comm = *(const MPI_Comm *)context;
    if (!sizes)
        return tool_world_send(comm, 0, data, size);
    char *at = all;
    bool good = true;
    if (size)
        memcpy(at, data, size);
    at += sizes[0];
    for (int rank = 1; rank < size_of(comm) && good; rank++) {
        good = tool_world_receive(comm, rank, at, sizes[rank]);
        at += sizes[rank];
    }
    return good;
}

static bool comm_scatter(void *context, const void *all, const size_t *sizes, void *data,
                         size_t size)
{
    const MPI_Comm comm = *(const MPI_Comm *)context;
    if (!sizes)
        return tool_world_receive(comm, 0, data, size);
    const char *at = all;
    bool good = true;
    if (size)
        memcpy(data, at, size);
    at += sizes[0];
    for (int rank = 1; rank < size_of(comm) && good; rank++) {
        good = tool_world_send(comm, rank, at, sizes[rank]);
        at += sizes[rank];
    }
    return good;
}

static bool make_group(struct trace_otf2_group *group, MPI_Comm *comm)
{
    *group = (struct trace_otf2_group){.context = comm,
                                       .barrier = comm_barrier,
                                       .broadcast = comm_broadcast,
                                       .gather = comm_gather,
                                       .scatter = comm_scatter};
    return PMPI_Comm_rank(*comm, &group->rank) == MPI_SUCCESS &&
           PMPI_Comm_size(*comm, &group->size) == MPI_SUCCESS;
}

/* ---- format=otf2: an archive of all processes ------------------------------------------------ */

struct opening {
    const struct trace_otf2 *otf2;
    char *problem;
};

static void find_otf2(void *data)
{
    struct opening *opening = data;
    char *path = tool_companion_file(TRACE_OTF2_FILE);
    opening->otf2 = trace_otf2_open(path, &opening->problem);
    free(path);
}

/* Opens the library. On failure, returns NULL and sets *problem to a message, or to NULL if memory
 * is exhausted. */
static const struct trace_otf2 *open_otf2(char **problem)
{
    struct opening opening = {0};
    qmpi_memory_catch_exhausted(find_otf2, &opening);
    *problem = opening.problem;
    return opening.otf2;
}

/* The library was missing in `init`, and one process has reported this for all. */
static bool lacked_otf2;

static void check_otf2(const struct layer *layer)
{
    char *problem = NULL;
    if (open_otf2(&problem))
        return;
    lacked_otf2 = true;
    if (qmpi_launcher_reports())
        qmpi_printf("trace (layer %d): no archive in OTF2 will be made: %-s\n"
                    "  `qmpi trace` reads the files of the processes",
                    layer->tool_id, problem ? problem : "out of memory");
    free(problem);
}

static void say_no_archive(const struct layer *layer, const char *problem)
{
    qmpi_printf("trace (layer %d): rank %d: no archive in OTF2: %-s\n  `qmpi trace %s` reads the "
                "files of the processes",
                layer->tool_id, layer->rank, problem ? problem : "out of memory", layer->directory);
}

static void write_otf2_archive(struct layer *layer, MPI_Comm comm)
{
    struct trace_otf2_group group;
    char *problem = NULL;
    const bool has_file =
        atomic_load(&layer->writer.has_ended) && !atomic_load(&layer->writer.has_failed);
    const struct trace_otf2 *otf2 = open_otf2(&problem);
    enum { HAS, LACKS, WORDS };
    int mine[WORDS] = {[HAS] = otf2 != NULL, [LACKS] = !otf2}, any[WORDS] = {0};
    /* All processes need the library, because they write the archive together. */
    if (PMPI_Allreduce(mine, any, WORDS, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS || any[LACKS] ||
        !make_group(&group, &comm)) {
        if (mine[LACKS] && (any[HAS] || !lacked_otf2))
            say_no_archive(layer, problem);
        free(problem);
        return;
    }
    if (!otf2->write_together(&group, has_file ? layer->writer.path : NULL, layer->directory,
                              &problem) &&
        (problem || group.rank == 0))
        say_no_archive(layer, problem);
    free(problem);
}

/* ---- format=perfetto: a file of each process ------------------------------------------------- */

/* Describes the caller of a call. Returns NULL if it is unknown. The caller of this function frees
 * the result. */
static char *describe_caller(void *data, const struct trace_process *process,
                             const struct trace_site *site)
{
    const QMPIX_Address *found;
    char *text = NULL;
    (void)data;
    if (!site->count || site->frames[0].library >= process->library_count ||
        QMPIX_Library_describe(process->libraries[site->frames[0].library],
                               (size_t)site->frames[0].offset, &found) != MPI_SUCCESS ||
        !found->frame_count || !found->frames[0].function)
        return NULL;
    const QMPIX_Frame *frame = &found->frames[0];
    const int length = frame->file ? asprintf(&text, "%s (%s:%d)", frame->function,
                                              qmpi_text_base_name(frame->file), frame->line)
                                   : asprintf(&text, "%s", frame->function);
    return length < 0 ? NULL : text;
}

static void say_no_rank_file(const struct layer *layer, char *problem)
{
    qmpi_printf("trace (layer %d): rank %d: %-s\n  `qmpi trace %s` reads the files of the "
                "processes",
                layer->tool_id, layer->rank, problem ? problem : "out of memory", layer->directory);
    free(problem);
}

static struct trace *open_process_trace(const struct layer *layer)
{
    char *problem = NULL;
    if (layer->rank < 0 || !atomic_load(&layer->writer.has_ended) ||
        atomic_load(&layer->writer.has_failed))
        return NULL;
    struct trace *trace = trace_reader_open_in_program(layer->writer.path, &problem);
    if (!trace)
        say_no_rank_file(layer, problem);
    return trace;
}

/* Lets all traces begin at the earliest event of all processes. The clock of the first process that
 * has a trace gives the date of this event. A file that is made from all processes later has the
 * same times. Collective. `trace` is NULL if this process has none. Returns false if no process has
 * a trace. */
static bool share_time_base(struct trace *trace, MPI_Comm comm)
{
    enum { BASE, FIRST, WORDS };
    long long mine[WORDS] = {LLONG_MAX, LLONG_MAX}, all[WORDS], epoch = 0;
    int rank;
    if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS)
        return false;
    if (trace) {
        mine[BASE] = trace->base;
        mine[FIRST] = rank;
        epoch = (long long)((uint64_t)trace->started - (uint64_t)trace->base);
    }
    if (PMPI_Allreduce(mine, all, WORDS, MPI_LONG_LONG, MPI_MIN, comm) != MPI_SUCCESS ||
        all[FIRST] == LLONG_MAX ||
        PMPI_Bcast(&epoch, 1, MPI_LONG_LONG, (int)all[FIRST], comm) != MPI_SUCCESS)
        return false;
    if (trace)
        trace_reader_share_times(trace, all[BASE], epoch);
    return true;
}

static void write_rank_file(const struct layer *layer, const struct trace_view *view,
                            const struct trace_pairs *pairs)
{
    const struct trace_export export = {view, pairs, describe_caller, NULL};
    char *target = NULL, *problem = NULL;
    if (asprintf(&target, "%s/rank-%d.perfetto-trace", layer->directory, layer->rank) < 0)
        target = NULL;
    if (!target || !trace_export_perfetto_file(&export, target, &problem))
        say_no_rank_file(layer, problem);
    QMPIX_Debug_info_release();
    free(target);
}

static void write_rank_files(struct layer *layer, MPI_Comm comm)
{
    struct trace *trace = open_process_trace(layer);
    if (share_time_base(trace, comm)) {
        struct trace_view view = {0};
        struct trace_pairs pairs;
        const bool is_open = trace && trace_view_open(&view, trace, NULL);
        const bool is_known =
            matching_find_unmatched(&pairs, is_open ? &view : NULL, layer->rank, comm);
        if (is_open)
            write_rank_file(layer, &view, is_known ? &pairs : NULL);
        else if (trace)
            say_no_rank_file(layer, NULL);
        trace_pairs_free(&pairs);
        if (trace)
            trace_view_close(&view);
    }
    trace_reader_close(trace);
}

/* ---- All formats ----------------------------------------------------------------------------- */

static const struct layer_format formats[] = {
    {.name = "otf2", .check = check_otf2, .write = write_otf2_archive},
    {.name = "perfetto", .write = write_rank_files},
    {.name = "own"},
};
enum { FORMATS = sizeof formats / sizeof *formats };
static const char formats_hint[] = "give otf2, perfetto or own";

bool formats_read_option(int tool_id, const struct layer_format **format)
{
    const char *words[FORMATS + 1] = {NULL}, *value;
    int place = 0;
    if (QMPIX_Tool_get_option(tool_id, "format", &value) == MPI_SUCCESS && !strcmp(value, "json")) {
        QMPIX_Tool_fail(tool_id, "format=json is no longer possible\nhint: use format=perfetto");
        return false;
    }
    for (int i = 0; i < FORMATS; i++)
        words[i] = formats[i].name;
    if (!tool_option_word(tool_id, "format", words, formats_hint, &place))
        return false;
    *format = &formats[place];
    return true;
}

void formats_check(const struct layer *layer)
{
    if (layer->options.format->check)
        layer->options.format->check(layer);
}

/* Blocks signals, because libotf2 writes files itself: SIGXFSZ, which the system sends if a file
 * exceeds the limit on its size, would end the program. */
void formats_write(struct layer *layer, MPI_Comm comm)
{
    struct qmpi_arithmetic arithmetic;
    struct qmpi_output_signals signals;
    struct qmpi_output_room room;
    if (layer->has_no_directory)
        return;
    writer_release_descriptors(layer);
    if (!layer->options.format->write)
        return;
    qmpi_output_room_make(&room);
    qmpi_output_signals_block(&signals);
    qmpi_arithmetic_begin(&arithmetic);
    layer->options.format->write(layer, comm);
    qmpi_arithmetic_end(&arithmetic);
    qmpi_output_signals_restore(&signals);
    qmpi_output_room_end(&room);
}
