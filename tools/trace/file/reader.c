/* SPDX-License-Identifier: MIT */
/* See reader.h. Opens the files of a trace, and aligns their clocks. */
#define _GNU_SOURCE
#include "tools/trace/file/reader.h"

#include "tools/trace/file/source.h"
#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* An open trace: the part that readers see, and the data that are needed to read its events. */
struct opened_trace {
    struct trace trace; /* must be first: a pointer to it is also a pointer to this structure */
    struct trace_source *sources;   /* [process] */
    struct trace_clock_line *lines; /* [process]: the time since `base` of the trace */
    size_t process_room, source_room;
};

/* ---- Files ----------------------------------------------------------------------------------- */

/* Adds a line to the warnings, and frees it. */
static void add_warning(struct opened_trace *opened, char *warning)
{
    char *warnings = qmpi_format("%s%s\n", opened->trace.warnings, warning);
    free(opened->trace.warnings);
    free(warning);
    opened->trace.warnings = warnings;
}

static bool add_process_file(struct opened_trace *opened, const char *path, char **problem)
{
    struct trace *trace = &opened->trace;
    if (!QMPI_MEMORY_RESERVE(trace->processes, opened->process_room, trace->process_count + 1) ||
        !QMPI_MEMORY_RESERVE(opened->sources, opened->source_room, trace->process_count + 1))
        qmpi_memory_exhausted();
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

/* Adds the files of a directory. Files that cannot be read become warnings, unless no file can be
 * read. */
static bool add_directory(struct opened_trace *opened, const char *path, char **problem)
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
        if (!add_process_file(opened, file, &file_problem)) {
            if (!first_problem)
                first_problem = qmpi_copy(file_problem);
            file_problem[strcspn(file_problem, "\n")] = '\0';
            add_warning(opened, file_problem);
            opened->trace.is_partial = true;
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

static void warn_of_damage(struct opened_trace *opened)
{
    struct trace *trace = &opened->trace;
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_source *source = &opened->sources[i];
        if (source->damaged && source->lost)
            add_warning(opened,
                        qmpi_message("%s is damaged: %llu bytes and the last %llu events are not "
                                     "read",
                                     source->path, (unsigned long long)source->damaged,
                                     (unsigned long long)source->lost));
        else if (source->damaged)
            add_warning(opened, qmpi_message("%s is damaged: %llu bytes are not read", source->path,
                                             (unsigned long long)source->damaged));
        if (source->is_exhausted)
            add_warning(opened,
                        qmpi_message("%s has more definitions than fit into memory", source->path));
        trace->is_partial = trace->is_partial || source->damaged || source->is_exhausted;
    }
}

/* ---- Processes of one run -------------------------------------------------------------------- */

static void remove_process(struct opened_trace *opened, size_t i)
{
    struct trace *trace = &opened->trace;
    trace_source_close(&opened->sources[i]);
    trace_definitions_clear(&trace->processes[i]);
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

/* Removes the processes of all runs except the newest one. Files of processes that ended before
 * their run was known are only read if there are no others. */
static void choose_run(struct opened_trace *opened)
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
    /* Paths of a file of another run, and of a file whose run is not known. */
    char *other = NULL, *first = NULL;
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
        add_warning(opened, others == 1
                                ? qmpi_message("there are traces of two runs: the one that began "
                                               "last is read; one file of the other is not: %s",
                                               other)
                                : qmpi_message("there are traces of several runs: the one that "
                                               "began last is read; %zu files of others are not, "
                                               "such as %s",
                                               others, other));
    if (early)
        add_warning(opened, early == 1
                                ? qmpi_message("one file ends before MPI was initialized, and is "
                                               "not read: %s",
                                               first)
                                : qmpi_message("%zu files end before MPI was initialized, and are "
                                               "not read, such as %s",
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

struct opened_process {
    struct trace_process process;
    struct trace_source source;
};

static int compare_pairs(const void *a, const void *b)
{
    return compare_processes(&((const struct opened_process *)a)->process,
                             &((const struct opened_process *)b)->process);
}

static void sort_processes(struct opened_trace *opened)
{
    struct trace *trace = &opened->trace;
    struct opened_process *pairs = qmpi_allocate(trace->process_count, sizeof *pairs);
    for (size_t i = 0; i < trace->process_count; i++)
        pairs[i] = (struct opened_process){trace->processes[i], opened->sources[i]};
    qsort(pairs, trace->process_count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < trace->process_count; i++) {
        trace->processes[i] = pairs[i].process;
        opened->sources[i] = pairs[i].source;
    }
    free(pairs);
}

/* If there are several files of one rank, keeps the largest one. */
static void remove_copies(struct opened_trace *opened)
{
    struct trace *trace = &opened->trace;
    for (size_t i = trace->process_count; i-- > 1;) {
        const struct trace_process *process = &trace->processes[i];
        if (process->rank < 0 || process->rank != trace->processes[i - 1].rank)
            continue;
        const size_t removed = opened->sources[i].size > opened->sources[i - 1].size ? i - 1 : i;
        add_warning(opened, qmpi_message("%s is of rank %d, like %s, and is therefore not read",
                                         trace->processes[removed].file, process->rank,
                                         trace->processes[removed == i ? i - 1 : i].file));
        remove_process(opened, removed);
    }
}

static void warn_of_missing(struct opened_trace *opened)
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
        add_warning(opened, qmpi_message("the file of rank %d of %d is missing", missing, ranks));
    else if (found && ranks > found)
        add_warning(opened,
                    qmpi_message("the files of %d of %d ranks are missing; the first of these "
                                 "ranks is %d",
                                 ranks - found, ranks, missing));
}

/* Keeps the processes of the newest run, and sorts them. Files that are not read and files that are
 * missing become warnings. */
static void choose_processes(struct opened_trace *opened)
{
    choose_run(opened);
    sort_processes(opened);
    remove_copies(opened);
    warn_of_missing(opened);
}

/* ---- Times ----------------------------------------------------------------------------------- */

/* A clock of one or several processes, and the process that has compared it with rank 0 most
 * often. */
struct clock {
    size_t donor;
    uint64_t bound; /* largest bound of the processes that read this clock */
};

/* Returns the number of the clock of a process, or 0 if it is not known. Copies of a virtual
 * machine have different clocks with equal numbers. To distinguish these from the clock of rank 0,
 * the number is changed if the comparison with rank 0 has a bound: only processes that read the
 * clock of rank 0 itself have the bound 0. */
static uint64_t clock_of(const struct trace_process *process)
{
    const bool differs = process->point_count && process->points[0].bound;
    return process->clock_number && differs ? qmpi_table_mix(process->clock_number)
                                            : process->clock_number;
}

/* Sets, for each process, the index of the process whose clock points are used. Usually, this is
 * the process itself. If a process has fewer than two clock points and the number of its clock is
 * known, the process that has most clock points for the same clock is used instead. */
static void find_donors(const struct trace *trace, struct qmpi_table *clocks, size_t *donors)
{
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_process *process = &trace->processes[i];
        const uint64_t number = clock_of(process);
        donors[i] = i;
        if (!number)
            continue;
        const bool is_new = !qmpi_table_get(clocks, number);
        struct clock *clock = qmpi_table_put(clocks, number);
        if (!clock)
            qmpi_memory_exhausted();
        if (is_new || process->point_count > trace->processes[clock->donor].point_count)
            clock->donor = i;
    }
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_process *process = &trace->processes[i];
        if (clock_of(process) && process->point_count < 2)
            donors[i] = ((struct clock *)qmpi_table_get(clocks, clock_of(process)))->donor;
    }
}

/* Aligns the clocks of processes whose donor has no clock points by means of the first process
 * whose donor has some. Sets *epoch to the time since the Epoch at world time 0 (the clock of rank
 * 0), or to 0 if no process has clock points. */
static void align_clocks(struct opened_trace *opened, const size_t *donors, int64_t *epoch)
{
    const struct trace *trace = &opened->trace;
    *epoch = 0;
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct trace_process *process = &trace->processes[i];
        if (!trace->processes[donors[i]].point_count)
            continue;
        *epoch =
            (int64_t)((uint64_t)process->started -
                      (uint64_t)trace_clock_line_time(&opened->lines[i], process->start_ticks));
        break;
    }
    for (size_t i = 0; i < trace->process_count; i++)
        if (!trace->processes[donors[i]].point_count)
            trace_clock_line_move(&opened->lines[i], *epoch == INT64_MIN ? INT64_MAX : -*epoch);
}

static uint64_t bound_of(const struct trace *trace, size_t index, size_t donor)
{
    const struct trace_process *process = &trace->processes[index];
    const uint64_t first = trace_clock_bound(&trace->processes[donor], process->start_ticks),
                   last = trace_clock_bound(&trace->processes[donor], process->end_ticks);
    return first > last ? first : last;
}

struct bounds {
    uint64_t largest, second; /* the largest and second largest bounds of different clocks */
    size_t clocks;
};

static void add_bound(struct bounds *bounds, uint64_t bound)
{
    bounds->clocks++;
    if (bound > bounds->largest) {
        bounds->second = bounds->largest;
        bounds->largest = bound;
    } else if (bound > bounds->second) {
        bounds->second = bound;
    }
}

static void add_clock(void *data, uint64_t number, void *value)
{
    (void)number;
    add_bound(data, ((const struct clock *)value)->bound);
}

/* Sets the bound of the trace: the sum of the two largest bounds of different clocks, because times
 * of two processes with the same clock can be compared exactly. */
static void set_bound(struct trace *trace, const struct qmpi_table *clocks, const size_t *donors)
{
    struct bounds bounds = {0};
    bool are_compared = true;
    for (size_t i = 0; i < trace->process_count; i++) {
        const uint64_t number = clock_of(&trace->processes[i]),
                       bound = bound_of(trace, i, donors[i]);
        struct clock *clock = number ? qmpi_table_get(clocks, number) : NULL;
        if (!clock)
            add_bound(&bounds, bound);
        else if (bound > clock->bound)
            clock->bound = bound;
        are_compared = are_compared && trace->processes[donors[i]].point_count;
    }
    qmpi_table_each(clocks, add_clock, &bounds);
    trace->has_bound = are_compared || bounds.clocks < 2;
    trace->bound = bounds.clocks < 2                             ? 0
                   : bounds.largest > UINT64_MAX - bounds.second ? UINT64_MAX
                                                                 : bounds.largest + bounds.second;
}

/* Returns whether calls of a process may last until its end, after its last event. */
static bool ends_in_calls(const struct trace_process *process)
{
    return process->end != TRACE_END_FINALIZE;
}

/* Sets the times of a trace: its earliest event, and its latest event or the end of a process that
 * did not reach MPI_Finalize. */
static void set_times(struct opened_trace *opened)
{
    struct trace *trace = &opened->trace;
    int64_t first = INT64_MAX, last = INT64_MIN, epoch;
    struct qmpi_table clocks;
    size_t *donors = qmpi_allocate(trace->process_count, sizeof *donors);
    qmpi_table_start(&clocks, sizeof(struct clock));
    find_donors(trace, &clocks, donors);
    opened->lines = qmpi_allocate(trace->process_count, sizeof *opened->lines);
    for (size_t i = 0; i < trace->process_count; i++)
        if (!trace_clock_line_make(&opened->lines[i], &trace->processes[donors[i]]))
            qmpi_memory_exhausted();
    align_clocks(opened, donors, &epoch);
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
    for (size_t i = 0; first > last && i < trace->process_count; i++) /* there are no events */
        first = last = trace_clock_line_time(&opened->lines[i], trace->processes[i].start_ticks);
    trace->base = first;
    if (__builtin_sub_overflow(last, first, &trace->end))
        trace->end = INT64_MAX;
    trace->started = (int64_t)((uint64_t)first + (uint64_t)epoch);
    for (size_t i = 0; i < trace->process_count; i++)
        trace_clock_line_move(&opened->lines[i], -first);
    set_bound(trace, &clocks, donors);
    qmpi_table_free(&clocks);
    free(donors);
}

/* ---- Traces ---------------------------------------------------------------------------------- */

char *trace_reader_directory(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (strcmp(name, "traces.otf2") != 0)
        return qmpi_copy(path);
    return name == path ? qmpi_copy(".") : qmpi_copy_part(path, (size_t)(name - path));
}

struct trace *trace_reader_open(const char *path, char **problem)
{
    struct opened_trace *opened = qmpi_allocate(1, sizeof *opened);
    struct stat status;
    opened->trace.path = trace_reader_directory(path);
    opened->trace.warnings = qmpi_copy("");
    const bool is_directory = !stat(opened->trace.path, &status) && S_ISDIR(status.st_mode);
    if (is_directory ? !add_directory(opened, opened->trace.path, problem)
                     : !add_process_file(opened, opened->trace.path, problem)) {
        trace_reader_close(&opened->trace);
        return NULL;
    }
    if (is_directory)
        choose_processes(opened);
    warn_of_damage(opened);
    set_times(opened);
    return &opened->trace;
}

struct opening {
    const char *path;
    char **problem;
    struct trace *trace;
};

static void open_trace(void *data)
{
    struct opening *opening = data;
    opening->trace = trace_reader_open(opening->path, opening->problem);
}

struct trace *trace_reader_open_in_program(const char *path, char **problem)
{
    struct opening opening = {path, problem, NULL};
    *problem = NULL;
    return qmpi_memory_catch_exhausted(open_trace, &opening) ? opening.trace : NULL;
}

void trace_reader_close(struct trace *trace)
{
    struct opened_trace *opened = (struct opened_trace *)trace;
    if (!trace)
        return;
    for (size_t i = 0; i < trace->process_count; i++) {
        trace_source_close(&opened->sources[i]);
        trace_definitions_clear(&trace->processes[i]);
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

void trace_reader_share_times(struct trace *trace, int64_t base, int64_t epoch)
{
    struct opened_trace *opened = (struct opened_trace *)trace;
    int64_t later;
    if (__builtin_sub_overflow(trace->base, base, &later) ||
        __builtin_add_overflow(trace->end, later, &trace->end))
        return; /* the file is damaged */
    for (size_t i = 0; i < trace->process_count; i++)
        trace_clock_line_move(&opened->lines[i], later);
    trace->base = base;
    trace->started = (int64_t)((uint64_t)base + (uint64_t)epoch);
}

int trace_reader_error(const struct trace *trace)
{
    const struct opened_trace *opened = (const struct opened_trace *)trace;
    int error = 0;
    for (size_t i = 0; i < trace->process_count && !error; i++)
        error = __atomic_load_n(&opened->sources[i].error, __ATOMIC_RELAXED);
    return error;
}

int64_t trace_reader_time(const struct trace *trace, const struct trace_process *process,
                          uint64_t ticks)
{
    const struct opened_trace *opened = (const struct opened_trace *)trace;
    return trace_clock_line_time(&opened->lines[process - trace->processes], ticks);
}

char *trace_file_path(const char *directory, int rank, int64_t pid, const char *host)
{
    return rank >= 0
               ? qmpi_format("%s/rank-%d%s", directory, rank, TRACE_FILE_SUFFIX)
               : qmpi_format("%s/%s-%lld%s", directory, host, (long long)pid, TRACE_FILE_SUFFIX);
}

const struct trace_source *trace_reader_source(const struct trace *trace, uint32_t process)
{
    return &((const struct opened_trace *)trace)->sources[process];
}

const struct trace_clock_line *trace_reader_clock(const struct trace *trace, uint32_t process)
{
    return &((const struct opened_trace *)trace)->lines[process];
}
