/* SPDX-License-Identifier: MIT */
/*
 * Where lines go: stderr, or a file of this process. Lines of a file or a device wait in a buffer
 * (buffer.h) that outlives the process. On stderr, on terminals and in pipes, where the program's
 * prints may stand in between or somebody waits for the lines, each is written by one system call.
 * Either way, lines of several threads and ranks do not mix, and none is lost when the process
 * ends.
 */
#ifndef QMPI_TOOL_LOG_SINK_H
#define QMPI_TOOL_LOG_SINK_H

#include "buffer.h"

#include <stdatomic.h>

struct sink {
    int tool_id;
    char *path;   /* NULL: stderr */
    char *writer; /* the program for the buffer; NULL: none */
    atomic_int state;
    int descriptor;
    bool is_pipe; /* that may break */
    struct buffer buffer;
};

/* Nothing is opened before the first line. `pattern`: NULL, or output=. */
void sink_make(struct sink *sink, int tool_id, const char *pattern, int rank);

/* Writes a line, soon. `ring` is a number that no other thread and no interrupted work uses
 * meanwhile; -1: none. Speaks of a file that cannot be opened. */
void sink_add(struct sink *sink, int ring, const char *bytes, size_t length);

/* Writes a line at once, behind those that were added. Any thread; in a signal handler too, unless
 * `may_print`: then a file that cannot be opened is spoken of. */
void sink_write(struct sink *sink, const char *bytes, size_t length, bool may_print);

/* Returns when all lines that were added are written. */
void sink_flush(struct sink *sink);

/* Whether lines go to stderr, where they need the prefix of all that qmpi says. */
bool sink_is_stderr(const struct sink *sink);

#endif
