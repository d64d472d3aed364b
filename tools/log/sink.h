/* SPDX-License-Identifier: MIT */
/*
 * Where lines go: stderr, or a file of this process. Each is written by one system call, so that
 * those of several threads and ranks do not mix, and none is lost when the process dies.
 */
#ifndef QMPI_TOOL_LOG_SINK_H
#define QMPI_TOOL_LOG_SINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct sink {
    int tool_id;
    char *path; /* NULL: stderr */
    atomic_int state;
    int descriptor;
    bool is_pipe; /* that may break */
};

/* Nothing is opened before the first line. `pattern`: NULL, or output=. */
void sink_make(struct sink *sink, int tool_id, const char *pattern, int rank);

/* Writes a line. Any thread; in a signal handler too, unless `may_print`: then a file that cannot
 * be opened is spoken of. */
void sink_write(struct sink *sink, const char *bytes, size_t length, bool may_print);

/* Whether lines go to stderr, where they need the prefix of all that qmpi says. */
bool sink_is_stderr(const struct sink *sink);

#endif
