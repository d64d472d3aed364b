/* SPDX-License-Identifier: MIT */
/*
 * A sink writes lines to stderr or to a file of this process. Lines of different threads and ranks
 * do not mix. No line is lost because the process ends, unless the program that writes the lines is
 * killed with it.
 *
 * On stderr, on terminals and in pipes, each line is written with one system call, because the
 * lines may alternate with the program's own output, or a reader may be waiting for them. Lines for
 * a regular file or a character device other than a terminal wait in a buffer, because a system
 * call for each line would take most of the time that a line costs. If the lines waited in the
 * memory of the process, they would be lost when SIGKILL, _exit (which some MPI libraries call
 * after a fatal error) or exec ends the process. A thread that writes the lines would be lost as
 * well, and it should not be started in a program that is otherwise single-threaded. Therefore,
 * lines are put into memory that is shared with a small program of ours (ring.h, writer.c). This
 * program writes the lines within 100 ms, writes them at once when a ring is half full, and writes
 * all remaining lines as soon as the process is gone, however it ends. It runs detached: it is not
 * a child of the process, it shares only this memory and the file with the process, and signals
 * that are sent to the process group do not reach it.
 *
 * If the program cannot be started or was killed, each line is written by its own system call. The
 * same happens in a forked child, because the memory that the child inherits belongs to its parent.
 */
#ifndef QMPI_TOOL_LOG_SINK_H
#define QMPI_TOOL_LOG_SINK_H

#include "toolkit/toolkit.h"
#include "tools/log/ring.h"
#include "util/util.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct sink_buffer {
    struct ring_shared *shared; /* NULL if the buffer is not in use */
    struct qmpi_output *output;
};

struct sink {
    int tool_id;
    struct tool_output output;
    /* The file until MPI is initialized, if the process may be a child of a rank
     * (tool_run_is_child) and not the rank itself. */
    struct tool_output child_output;
    bool is_of_child; /* `child_output` is in use */
    const char *path; /* NULL for stderr */
    char *writer;     /* path of the program that serves the buffer, or NULL for none */
    atomic_int state; /* OPEN if the members below may be used; see sink.c */
    bool has_file;    /* the file is open; otherwise, lines go to stderr */
    struct qmpi_output file;
    struct sink_buffer buffer;
    atomic_bool has_failed; /* a line was lost, and this was reported */
    atomic_int phase;       /* see sink_set_phase, as for the members below */
    struct prefix prefix;
    int64_t start; /* see ring.h */
};

/* Initializes a sink. The file is not opened before the first line. `pattern` is the value of the
 * option output=, or NULL. `rank` is the launcher's number of this process, or negative if it gives
 * none. */
void sink_make(struct sink *sink, int tool_id, const char *pattern, int rank);

/* Called when MPI or a session has been initialized, so that the process is a rank. Its file then
 * gets the name with the rank. */
void sink_begin(struct sink *sink);

/* Adds a line, which is written at once or waits in the buffer. `ring` is the number of a ring that
 * no other thread and no interrupted work uses meanwhile, or -1 for none. `call` is what
 * sink_call_find has returned for a call that has returned, if this is its line, or NULL. This
 * function prints a message if the file cannot be opened or if this is the first line that is lost.
 */
void sink_add(struct sink *sink, int ring, struct ring_call *call, const char *bytes,
              size_t length);

/* Writes a line at once, after the lines that were added before. Any thread may call this function.
 * It is safe in a signal handler unless `may_print` is true. A file that cannot be opened is
 * reported only if `may_print` is true. The first line that is lost is always reported. If
 * `may_print` is false and another thread is opening the sink, nothing is written. */
void sink_write(struct sink *sink, const char *bytes, size_t length, bool may_print);

/* Waits until all lines that were added are written, for 10 s at most, and reports the first line
 * that is lost. */
void sink_flush(struct sink *sink);

/*
 * If the process ends in a way that it cannot notice, such as SIGKILL or _exit, the program that
 * writes the lines also writes a line about each call in progress, and a last line. For this,
 * sink_call_find returns the place for the call of frame `number`, or NULL if the buffer is not in
 * use or has no place for this frame; with `opens`, it first opens the file. The caller fills in
 * the place, and calls sink_call_open. When the call has returned and its line was added, or its
 * unfinished line was written, the caller calls sink_call_close, which does nothing in a forked
 * child. All of these functions accept NULL for the place, and are safe in a signal handler.
 */
struct ring_call *sink_call_find(struct sink *sink, int number, bool opens);
void sink_call_open(const struct sink *sink, struct ring_call *call, int threads);
void sink_call_close(const struct sink *sink, struct ring_call *call);

/* Sets what is written at the end of such a process (PHASE_…). `prefix` is the beginning of the
 * last line, with the present time, or NULL for PHASE_OVER. This function is safe in a signal
 * handler. */
void sink_set_phase(struct sink *sink, int phase, const struct prefix *prefix);

/* Returns whether lines go to stderr, where they need the prefix that all messages of qmpi have. */
bool sink_is_stderr(const struct sink *sink);

#endif
