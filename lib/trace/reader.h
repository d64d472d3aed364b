/* SPDX-License-Identifier: MIT */
/*
 * Reading traces. All functions are for one thread, and make no MPI calls. A file may end anywhere,
 * and may have been changed by anybody: what is no whole, valid block is reported, and never
 * followed.
 */
#ifndef QMPI_TRACE_READER_H
#define QMPI_TRACE_READER_H

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
    int64_t origin;  /* world time of the earliest event, in nanoseconds: `time` of events counts
                        from it */
    int64_t started; /* the same moment in nanoseconds since the Epoch, by the clock of the lowest
                        rank */
    int64_t end;     /* of the latest event, from the origin on */
    uint64_t bound;  /* by which times of two processes may be wrong against each other; 0: one
                        process, or  one clock */
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

/* The time of a moment of a process, in nanoseconds since the origin. */
int64_t trace_time(const struct trace *trace, const struct trace_process *process, uint64_t ticks);

/* What to read: all, if it is {0}. */
struct trace_selection {
    const unsigned char *processes; /* [index]: whether it is wanted; NULL: all */
    bool has_begin, has_end;
    int64_t begin,
        end; /* nanoseconds since the origin; a call that overlaps is given as far as it does */
};

/*
 * Gives events one after the other: of one location, of one process in order of time, or of all
 * processes in order of their corrected times. `process` and `location` may be TRACE_NONE: all.
 */
struct trace_cursor;
struct trace_cursor *trace_cursor_make(const struct trace *trace, uint32_t process,
                                       uint32_t location, const struct trace_selection *selection);

/* Sets `event`, and `process` (may be NULL) to the index of its process. Returns false at the end.
 */
bool trace_cursor_next(struct trace_cursor *cursor, struct trace_event *event, uint32_t *process);
void trace_cursor_free(struct trace_cursor *cursor);

/* The definitions of a process as bytes, to be sent to another process (as they are in its file),
 * and back. On failure NULL: memory is exhausted, or the bytes are invalid. The caller frees both.
 */
struct trace_bytes;
bool trace_process_pack(const struct trace_process *process, struct trace_bytes *bytes);
bool trace_process_unpack(const void *bytes, size_t size, struct trace_process *process);
void trace_process_clear(struct trace_process *process);

/* The path of the file of a process in the directory of a trace: DIRECTORY/rank-7.qtrace. The
 * caller frees it. */
char *trace_file_path(const char *directory, int rank, int64_t pid, const char *host);
#define TRACE_FILE_SUFFIX ".qtrace"

#endif
