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

static void warn(struct trace_opened *opened, char *warning)
{
    char *warnings = qmpi_format("%s%s\n", opened->trace.warnings, warning);
    free(opened->trace.warnings);
    free(warning);
    opened->trace.warnings = warnings;
}

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
            warn(opened, file_problem);
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

/* ---- Processes ------------------------------------------------------------------------------- */

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
        warn(opened, qmpi_message("there are traces of several runs: that which began last is "
                                  "read; %zu files of others are not, such as %s",
                                  others, other));
    if (early)
        warn(opened, qmpi_message("%zu files end before MPI was initialized, and are not read, "
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
        warn(opened, qmpi_message("%s is of rank %d, as %s, and is not read",
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
        warn(opened, qmpi_message("the file of rank %d of %d is missing", missing, ranks));
    else if (found && ranks > found)
        warn(opened, qmpi_message("the files of %d of %d ranks are missing, the first of which is "
                                  "rank %d",
                                  ranks - found, ranks, missing));
}

static void warn_of_damage(struct trace_opened *opened)
{
    const struct trace *trace = &opened->trace;
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_source *source = &opened->sources[i];
        if (source->damaged && source->lost)
            warn(opened, qmpi_message("%s is damaged: %llu bytes are not read, nor the last %llu "
                                      "events",
                                      source->path, (unsigned long long)source->damaged,
                                      (unsigned long long)source->lost));
        else if (source->damaged)
            warn(opened, qmpi_message("%s is damaged: %llu bytes are not read", source->path,
                                      (unsigned long long)source->damaged));
        if (source->is_exhausted)
            warn(opened,
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

/* Sets the times of a trace: by its earliest and its latest event. */
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
            const int64_t begin = trace_clock_line_time(&opened->lines[i], stream->blocks[0].first);
            const int64_t end =
                trace_clock_line_time(&opened->lines[i], stream->blocks[stream->count - 1].last);
            first = begin < first ? begin : first;
            last = end > last ? end : last;
        }
    }
    for (size_t i = 0; first > last && i < trace->process_count; i++) /* no events */
        first = last = trace_clock_line_time(&opened->lines[i], trace->processes[i].start_ticks);
    trace->base = first;
    if (__builtin_sub_overflow(last, first, &trace->end))
        trace->end = INT64_MAX;
    trace->started = (int64_t)((uint64_t)first + (uint64_t)epoch);
    for (size_t i = 0; i < trace->process_count; i++)
        trace_clock_line_move(&opened->lines[i], first == INT64_MIN ? INT64_MAX : -first);
    note_bound(trace);
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
        choose_run(opened);
    sort_processes(opened);
    if (is_directory) {
        remove_copies(opened);
        warn_of_missing(opened);
    }
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
