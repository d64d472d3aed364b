/* SPDX-License-Identifier: MIT */
/* See reader.h: opens the files of a trace. */
#define _GNU_SOURCE
#include "trace/opened.h"
#include "trace/reader.h"
#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Files ----------------------------------------------------------------------------------- */

static bool add_file(struct trace_opened *opened, const char *path, char **problem)
{
    struct trace *trace = &opened->trace;
    if (trace->process_count == opened->room) {
        opened->room = opened->room ? 2 * opened->room : 16;
        trace->processes = realloc(trace->processes, opened->room * sizeof *trace->processes);
        opened->sources = realloc(opened->sources, opened->room * sizeof *opened->sources);
        if (!trace->processes || !opened->sources)
            qmpi_out_of_memory();
    }
    struct trace_source *source = &opened->sources[trace->process_count];
    if (!trace_source_open(source, &trace->processes[trace->process_count], path, problem))
        return false;
    trace->process_count++;
    return true;
}

static bool is_trace_file(const char *name)
{
    const size_t length = strlen(name), suffix = strlen(TRACE_FILE_SUFFIX);
    return length > suffix && strcmp(name + length - suffix, TRACE_FILE_SUFFIX) == 0;
}

/* Adds the files of a directory; those that cannot be read become warnings, unless none can. */
static bool add_directory(struct trace_opened *opened, const char *path, char **problem)
{
    DIR *directory = opendir(path);
    if (!directory) {
        *problem = qmpi_message("cannot read %s: %s\nhint: give the directory of a trace, or a "
                                "file *%s in it",
                                path, strerror(errno), TRACE_FILE_SUFFIX);
        return false;
    }
    char *first_problem = NULL;
    for (struct dirent *found; (found = readdir(directory));) {
        char *file_problem = NULL;
        if (!is_trace_file(found->d_name))
            continue;
        char *file = qmpi_format("%s/%s", path, found->d_name);
        if (!add_file(opened, file, &file_problem)) {
            if (!first_problem)
                first_problem = qmpi_copy(file_problem);
            file_problem[strcspn(file_problem, "\n")] = '\0';
            trace_warn(opened, file_problem);
        }
        free(file);
    }
    closedir(directory);
    if (opened->trace.process_count) {
        free(first_problem);
        return true;
    }
    *problem = first_problem ? first_problem
                             : qmpi_message("%s contains no trace of qmpi: no file *%s\n"
                                            "hint: run the program with qmpi run -t trace",
                                            path, TRACE_FILE_SUFFIX);
    return false;
}

static void warn_of_damage(struct trace_opened *opened)
{
    const struct trace *trace = &opened->trace;
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_source *source = &opened->sources[i];
        if (source->damaged && source->lost)
            trace_warn(opened,
                       qmpi_message("%s is damaged: %llu bytes are not read, nor the last %llu "
                                    "events",
                                    source->path, (unsigned long long)source->damaged,
                                    (unsigned long long)source->lost));
        else if (source->damaged)
            trace_warn(opened, qmpi_message("%s is damaged: %llu bytes are not read", source->path,
                                            (unsigned long long)source->damaged));
        if (source->is_exhausted)
            trace_warn(opened,
                       qmpi_message("%s has more definitions than fit into memory", source->path));
    }
}

/* ---- Times ----------------------------------------------------------------------------------- */

/* The clocks of processes without clock points are set by those of the first one that has some. */
static void align(struct trace_opened *opened, int64_t *epoch)
{
    const struct trace *trace = &opened->trace;
    *epoch = 0;
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_process *process = &trace->processes[i];
        if (!process->point_count)
            continue;
        *epoch =
            (int64_t)((uint64_t)process->started -
                      (uint64_t)trace_clock_line_time(&opened->lines[i], process->start_ticks));
        break;
    }
    for (size_t i = 0; i < trace->process_count; i++)
        if (!trace->processes[i].point_count)
            trace_clock_line_move(&opened->lines[i], *epoch == INT64_MIN ? INT64_MAX : -*epoch);
}

static void note_bound(struct trace *trace)
{
    uint64_t largest = 0, second = 0;
    trace->has_bound = true;
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_process *process = &trace->processes[i];
        const uint64_t first = trace_clock_bound(process, process->start_ticks),
                       last = trace_clock_bound(process, process->end_ticks);
        const uint64_t bound = first > last ? first : last;
        trace->has_bound = trace->has_bound && (process->point_count || trace->process_count == 1);
        if (bound > largest) {
            second = largest;
            largest = bound;
        } else if (bound > second) {
            second = bound;
        }
    }
    trace->bound = trace->process_count < 2        ? 0
                   : largest > UINT64_MAX - second ? UINT64_MAX
                                                   : largest + second;
}

/* Whether calls of a process may last until its end, after its last event. */
static bool ends_in_calls(const struct trace_process *process)
{
    return process->end != TRACE_END_FINALIZE;
}

/* Sets the times of a trace: by its earliest and its latest event, or the end of a process that did
 * not reach MPI_Finalize. */
static void find_base(struct trace_opened *opened)
{
    struct trace *trace = &opened->trace;
    int64_t first = INT64_MAX, last = INT64_MIN, epoch;
    opened->lines = qmpi_allocate(trace->process_count, sizeof *opened->lines);
    for (size_t i = 0; i < trace->process_count; i++)
        if (!trace_clock_line_make(&opened->lines[i], &trace->processes[i]))
            qmpi_out_of_memory();
    align(opened, &epoch);
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_source *source = &opened->sources[i];
        for (size_t j = 0; j < source->stream_count; j++) {
            const struct trace_source_stream *stream = &source->streams[j];
            const int64_t begin = trace_clock_line_time(
                &opened->lines[i], trace_source_begin(stream, trace->processes[i].is_ring));
            const int64_t end =
                trace_clock_line_time(&opened->lines[i], stream->blocks[stream->count - 1].last);
            first = begin < first ? begin : first;
            last = end > last ? end : last;
        }
        const int64_t end = trace_clock_line_time(&opened->lines[i], trace->processes[i].end_ticks);
        if (source->stream_count && ends_in_calls(&trace->processes[i]) && end > last)
            last = end;
    }
    for (size_t i = 0; first > last && i < trace->process_count; i++) /* no events */
        first = last = trace_clock_line_time(&opened->lines[i], trace->processes[i].start_ticks);
    trace->base = first;
    if (__builtin_sub_overflow(last, first, &trace->end))
        trace->end = INT64_MAX;
    trace->started = (int64_t)((uint64_t)first + (uint64_t)epoch);
    for (size_t i = 0; i < trace->process_count; i++)
        trace_clock_line_move(&opened->lines[i], -first);
    note_bound(trace);
}

void trace_share_times(struct trace *trace, int64_t base, int64_t epoch)
{
    struct trace_opened *opened = (struct trace_opened *)trace;
    int64_t later;
    if (__builtin_sub_overflow(trace->base, base, &later) ||
        __builtin_add_overflow(trace->end, later, &trace->end))
        return; /* the file is damaged */
    for (size_t i = 0; i < trace->process_count; i++)
        trace_clock_line_move(&opened->lines[i], later);
    trace->base = base;
    trace->started = (int64_t)((uint64_t)base + (uint64_t)epoch);
}

/* ---- All together ---------------------------------------------------------------------------- */

/* The directory of a trace, if `path` is its anchor file. */
static char *directory_of(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (strcmp(name, "traces.otf2") != 0)
        return qmpi_copy(path);
    return name == path ? qmpi_copy(".") : qmpi_copy_part(path, (size_t)(name - path));
}

struct trace *trace_open(const char *path, char **problem)
{
    struct trace_opened *opened = qmpi_allocate(1, sizeof *opened);
    struct stat status;
    opened->trace.path = directory_of(path);
    opened->trace.warnings = qmpi_copy("");
    const bool is_directory = !stat(opened->trace.path, &status) && S_ISDIR(status.st_mode);
    if (is_directory ? !add_directory(opened, opened->trace.path, problem)
                     : !add_file(opened, opened->trace.path, problem)) {
        trace_close(&opened->trace);
        return NULL;
    }
    if (is_directory)
        trace_choose_processes(opened);
    warn_of_damage(opened);
    find_base(opened);
    return &opened->trace;
}

void trace_close(struct trace *trace)
{
    struct trace_opened *opened = (struct trace_opened *)trace;
    if (!trace)
        return;
    for (size_t i = 0; i < trace->process_count; i++) {
        trace_source_close(&opened->sources[i]);
        trace_process_clear(&trace->processes[i]);
        if (opened->lines)
            trace_clock_line_free(&opened->lines[i]);
    }
    free(trace->processes);
    free(trace->path);
    free(trace->warnings);
    free(opened->sources);
    free(opened->lines);
    free(opened);
}

int64_t trace_time(const struct trace *trace, const struct trace_process *process, uint64_t ticks)
{
    const struct trace_opened *opened = (const struct trace_opened *)trace;
    return trace_clock_line_time(&opened->lines[process - trace->processes], ticks);
}

int trace_world_rank(const struct trace_process *process, uint32_t comm, int rank)
{
    if (comm >= process->comm_count || rank < 0)
        return TRACE_UNDEFINED;
    const struct trace_comm *found = &process->comms[comm];
    const int *group = found->remote ? found->remote : found->group;
    return group && rank < (found->remote ? found->remote_size : found->size) ? group[rank]
                                                                              : TRACE_UNDEFINED;
}

char *trace_file_path(const char *directory, int rank, int64_t pid, const char *host)
{
    return rank >= 0
               ? qmpi_format("%s/rank-%d%s", directory, rank, TRACE_FILE_SUFFIX)
               : qmpi_format("%s/%s-%lld%s", directory, host, (long long)pid, TRACE_FILE_SUFFIX);
}
