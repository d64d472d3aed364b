/* SPDX-License-Identifier: MIT */
/*
 * Counters of calls by function and layer, exact with any number of threads and without a lock or
 * an atomic instruction on the path of a call: every thread counts in tables of its own. A thread
 * that ends leaves its tables to the next one that begins, so their number stays that of the
 * threads alive. A signal may strike anywhere, and its handler call MPI: see
 * toolkit/thread_state.h. No call is at work long enough to need more than a thread's first level.
 */
#ifndef QMPI_TOOL_COUNT_COUNTERS_H
#define QMPI_TOOL_COUNT_COUNTERS_H

#include "toolkit/toolkit.h"

#include <qmpi/qmpi.h>

struct counters_table {
    unsigned long long calls[MPI_LAST_FUNC];
    struct counters_table *next; /* of the same layer */
};

struct counters_thread {
    struct thread_level level;
    struct counters_table *tables[256]; /* [tool_id] */
};

/* To be called in `init`. */
void counters_start(void);

/* The same as counters_note, for the first call of a thread in a layer: makes its table. */
void counters_note_first(int tool_id, int number);

/* Counts one call of function `number` in a layer. */
static inline void counters_note(int tool_id, int number)
{
    const struct counters_thread *thread = (const struct counters_thread *)thread_level_current;
    struct counters_table *table = thread ? thread->tables[tool_id] : NULL;
    if (__builtin_expect(table != NULL, 1))
        tool_add(&table->calls[number], 1); /* only this thread does; others may read at any time */
    else
        counters_note_first(tool_id, number);
}

/* The calls of function `number` in a layer so far, summed over all threads. Any thread, at any
 * time; takes no lock. */
unsigned long long counters_get(int tool_id, int number);

/* The same for all functions. */
void counters_sum(int tool_id, unsigned long long calls[MPI_LAST_FUNC]);

#endif
