/* SPDX-License-Identifier: MIT */
/*
 * Opens traces. Only one thread may call these functions, which make no MPI calls. A file may end
 * at any position and may be damaged: parts that are not complete, valid blocks are reported and
 * not used.
 */
#ifndef QMPI_TRACE_FILE_READER_H
#define QMPI_TRACE_FILE_READER_H

#include "tools/trace/file/clock_line.h"
#include "tools/trace/file/definitions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A trace: the processes of one run, or one process whose file is read alone. */
struct trace {
    char *path;
    /* Ordered by rank; processes without a rank come last, ordered by file. */
    struct trace_process *processes;
    size_t process_count;
    int64_t base;    /* world time of the earliest event, in nanoseconds. `time` of events is
                        relative to it, and never negative */
    int64_t started; /* the same time in nanoseconds since the Epoch, by the clock of the lowest
                        rank */
    int64_t end;     /* `time` of the latest event, or of the end of a process that ended without
                        MPI_Finalize, if that is later */
    uint64_t bound;  /* maximum error in nanoseconds when times of two processes are compared; 0 if
                        there is only one process or clock */
    bool has_bound;  /* false if there are several clocks and they were not compared */
    char *warnings;  /* problems of the files, one in each line; "" if there are none */
    bool is_partial; /* a file could not be read, or not completely; the warnings name it */
};

/*
 * Opens a trace. `path` is the directory of a trace, the file traces.otf2 in it, or the file of a
 * process, which is then read alone. On failure, returns NULL and sets *problem to a message with a
 * hint, which the caller frees.
 */
struct trace *trace_reader_open(const char *path, char **problem);

/* Does the same in a process of the program, which must not be ended for lack of memory: if memory
 * is exhausted, returns NULL and sets *problem to NULL. */
struct trace *trace_reader_open_in_program(const char *path, char **problem);
void trace_reader_close(struct trace *trace);

/*
 * For processes that each read their own file and must count time from the same point. `base`
 * replaces `base` of the trace: it is the earliest one of all processes. `epoch` is a common value
 * for `started` minus `base`.
 */
void trace_reader_share_times(struct trace *trace, int64_t base, int64_t epoch);

/* Returns the directory of a trace if `path` is the file traces.otf2 in it, and otherwise `path`.
 * The caller frees the result. */
char *trace_reader_directory(const char *path);

/* Returns errno if a file of the trace could not be opened again, otherwise 0. After such a
 * failure, the events that were read are incomplete. */
int trace_reader_error(const struct trace *trace);

/* Returns the time of ticks of a process, in nanoseconds since `base`. Equal ticks have equal
 * times, and times never decrease. */
int64_t trace_reader_time(const struct trace *trace, const struct trace_process *process,
                          uint64_t ticks);

/* Returns the path of the file of a process in the directory of a trace: DIRECTORY/rank-7.qtrace,
 * or DIRECTORY/HOST-PID.qtrace if `rank` is TRACE_UNDEFINED. The caller frees it. */
char *trace_file_path(const char *directory, int rank, int64_t pid, const char *host);

/* These functions return the file of a process and its clock, for cursors. */
struct trace_source;
const struct trace_source *trace_reader_source(const struct trace *trace, uint32_t process);
const struct trace_clock_line *trace_reader_clock(const struct trace *trace, uint32_t process);

#endif
