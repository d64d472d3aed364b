/* SPDX-License-Identifier: MIT */
/*
 * Opening traces. All functions are for one thread, and make no MPI calls. A file may end anywhere,
 * and may have been changed by anybody: what is no whole, valid block is reported, and never
 * followed.
 */
#ifndef QMPI_TRACE_FILE_READER_H
#define QMPI_TRACE_FILE_READER_H

#include "tools/trace/file/clock_line.h"
#include "tools/trace/file/definitions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A trace: all processes of one run. */
struct trace {
    char *path;
    struct trace_process *processes; /* by rank; those without a rank at the end, by file */
    size_t process_count;
    int64_t base;    /* world time of the earliest event, in nanoseconds: the time 0 of the trace,
                        from which `time` of events counts; no `time` is negative */
    int64_t started; /* the same moment in nanoseconds since the Epoch, by the clock of the lowest
                        rank */
    int64_t end;     /* `time` of the latest event */
    uint64_t bound;  /* by which times of two processes may be wrong against each other; 0: one
                        process, or one clock */
    bool has_bound;  /* false: there are several clocks, and they were not compared */
    char *warnings;  /* what is wrong with the files, one line each; "": nothing */
};

/*
 * Opens a trace. `path` is the directory of a trace, the file traces.otf2 in it, or the file of a
 * process, which is then read alone. On failure, returns NULL and sets *problem to a message with a
 * hint, which the caller frees.
 */
struct trace *trace_reader_open(const char *path, char **problem);

/* The same in a process of the program, which must not end for want of memory: if memory is
 * exhausted, also returns NULL, and *problem is NULL. */
struct trace *trace_reader_open_in_program(const char *path, char **problem);
void trace_reader_close(struct trace *trace);

/*
 * For processes that each read their own file: sets `base` to the earliest of all, and what
 * `started` is without it (`epoch`) to the same one, so that all count time from one moment.
 */
void trace_reader_share_times(struct trace *trace, int64_t base, int64_t epoch);

/* Returns errno of the first failure to open a file of the trace since it was opened; 0: none. What
 * has been given of the trace is not complete then. */
int trace_reader_error(const struct trace *trace);

/* The time of a moment of a process, in nanoseconds since `base`. Equal for equal ticks, and never
 * earlier for later ones. */
int64_t trace_reader_time(const struct trace *trace, const struct trace_process *process,
                          uint64_t ticks);

/* The path of the file of a process in the directory of a trace: DIRECTORY/rank-7.qtrace, or
 * DIRECTORY/HOST-PID.qtrace if `rank` is TRACE_UNDEFINED. The caller frees it. */
char *trace_file_path(const char *directory, int rank, int64_t pid, const char *host);

/* The file of a process and its clock, for cursors. */
struct trace_source;
const struct trace_source *trace_reader_source(const struct trace *trace, uint32_t process);
const struct trace_clock_line *trace_reader_clock(const struct trace *trace, uint32_t process);

#endif
