/* SPDX-License-Identifier: MIT */
/*
 * Calls in progress. Most calls are recorded when they have ended; of those that last long, or that
 * do not end, the writer finds the beginning where the thread has noted it, and writes it before.
 */
#ifndef QMPI_TOOL_TRACE_WRITE_PROGRESS_H
#define QMPI_TOOL_TRACE_WRITE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds: calls that last longer are written while they do, as far as the program runs on. */
enum { PROGRESS_LEAST = 100000000 };

struct flight;
struct layer;
struct recorder;

/* The innermost call of a recorder, of which nothing has been recorded. */
struct progress {
    const struct flight *flight; /* NULL: there is none */
    uint64_t mark;
};

/* Finds it. To be called before what the thread has recorded is translated: if the call is still
 * the same afterwards, nothing that came before it is missing. */
struct progress progress_find(const struct recorder *recorder);

/* Whether it has not ended since. */
bool progress_is_current(const struct progress *progress);

/* Begins it in its stream if it has lasted for at least some nanoseconds. */
void progress_put(struct layer *layer, const struct recorder *recorder,
                  const struct progress *progress, int64_t least);

/* Writes that the process runs, if its last event was some time ago: a reader knows then how long a
 * call lasts that does not end, or how long there was no call. */
void progress_put_alive(struct layer *layer);

#endif
