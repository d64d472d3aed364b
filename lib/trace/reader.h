/* SPDX-License-Identifier: MIT */
/*
 * Reading traces. All functions are for one thread, and make no MPI calls. A file may end anywhere,
 * and may have been changed by anybody: what is no whole, valid block is reported, and never
 * followed.
 */
#ifndef QMPI_TRACE_READER_H
#define QMPI_TRACE_READER_H

#include "trace/bytes.h"
#include "trace/definitions.h"
#include "trace/event.h"

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
    bool has_bound;  /* false: clocks were not compared */
    char *warnings;  /* what is wrong with the files, one line each; "": nothing */
};

/*
 * Opens a trace. `path` is the directory of a trace, the file traces.otf2 in it, or the file of a
 * process, which is then read alone. On failure, returns NULL and sets *problem to a message with a
 * hint, which the caller frees.
 */
struct trace *trace_open(const char *path, char **problem);
void trace_close(struct trace *trace);

/*
 * For processes of which each reads its own file: sets `base` to the earliest of all, and what
 * `started` is without it (`epoch`) to the same one, so that all count time from one moment.
 */
void trace_share_times(struct trace *trace, int64_t base, int64_t epoch);

/* The time of a moment of a process, in nanoseconds since `base`. Equal for equal ticks, and never
 * earlier for later ones. */
int64_t trace_time(const struct trace *trace, const struct trace_process *process, uint64_t ticks);

/* What to read: all, if it is {0}. */
struct trace_selection {
    const unsigned char *processes; /* [index]: whether it is wanted; NULL: all */
    bool has_begin, has_end;
    int64_t begin, end; /* nanoseconds since `base`, both included */
};

/*
 * Gives events one after the other: of one location, of one process in order of time, or of all
 * processes in order of their corrected times. `process` and `location` may be TRACE_NONE: all.
 * Returns NULL if memory is exhausted.
 *
 * The events of each location are properly nested whatever the files contain. TRACE_LEAVE and
 * TRACE_INTERRUPTED have the function and the site of their TRACE_ENTER. Indices are valid, or
 * TRACE_NONE where a member does not apply, or is not known; but ranks (`peer`, `root`) are as
 * recorded: see trace_world_rank. Events that are missing because a part of the file is damaged are
 * told by TRACE_DROPPED.
 *
 * Of a call that began before `begin` or ended after `end`, a part is given: its TRACE_ENTER has
 * the time `begin`, or its TRACE_LEAVE the time `end`. What it does (messages, …) is given if it
 * lies in between.
 */
struct trace_cursor;
struct trace_cursor *trace_cursor_make(const struct trace *trace, uint32_t process,
                                       uint32_t location, const struct trace_selection *selection);

/* Sets `event`, and `process` (may be NULL) to the index of its process. Returns false at the end.
 */
bool trace_cursor_next(struct trace_cursor *cursor, struct trace_event *event, uint32_t *process);
void trace_cursor_free(struct trace_cursor *cursor);

/* The rank in MPI_COMM_WORLD of a rank (`peer`, `root`) in a communicator of a process: in its
 * remote group, if it has one. TRACE_UNDEFINED if that is not known, and for special values. */
int trace_world_rank(const struct trace_process *process, uint32_t comm, int rank);

/* The definitions of a process as bytes, to be sent to another process (as they are in its file),
 * and back: all members of struct trace_process. They return false if memory is exhausted, or the
 * bytes are invalid. The caller frees what they have made, by trace_bytes_free and
 * trace_process_clear. */

bool trace_process_pack(const struct trace_process *process, struct trace_bytes *bytes);
bool trace_process_unpack(const void *bytes, size_t size, struct trace_process *process);

/* The path of the file of a process in the directory of a trace: DIRECTORY/rank-7.qtrace, or
 * DIRECTORY/HOST-PID.qtrace if `rank` is TRACE_UNDEFINED. The caller frees it. */
char *trace_file_path(const char *directory, int rank, int64_t pid, const char *host);

#endif
