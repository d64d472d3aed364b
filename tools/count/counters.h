/* SPDX-License-Identifier: MIT */
/*
 * Counters of calls by function and layer, exact with any number of threads and without a lock or
 * an atomic instruction on the path of a call: every thread counts in tables of its own. A thread
 * that ends leaves its tables to the next one that begins, so their number stays that of the
 * threads alive.
 */
#ifndef QMPI_COUNTERS_H
#define QMPI_COUNTERS_H

#include <qmpi/qmpi.h>

struct counters_table {
    unsigned long long calls[MPI_LAST_FUNC];
};

struct counters_thread {
    struct counters_table *tables[256]; /* [tool_id] */
    struct counters_thread *next;       /* among all threads */
    struct counters_thread *next_free;
};

/* One pointer fits the room that the loader keeps for such variables. */
extern _Thread_local struct counters_thread *counters_self
    __attribute__((tls_model("initial-exec")));

/* Makes this thread's table for a layer; NULL where memory is out. */
struct counters_table *counters_add_table(int tool_id);

/* Counts one call of function `number` in a layer. */
static inline void counters_note(int tool_id, int number)
{
    struct counters_table *table = counters_self ? counters_self->tables[tool_id] : NULL;
    if (__builtin_expect(!table, 0)) {
        table = counters_add_table(tool_id);
        if (!table)
            return;
    }
    /* Only this thread writes; others may read at any time. */
    __atomic_store_n(&table->calls[number], table->calls[number] + 1, __ATOMIC_RELAXED);
}

/* The calls of function `number` in a layer so far, summed over all threads. Any thread, at any
 * time; takes no lock. */
unsigned long long counters_get(int tool_id, int number);

/* The same for all functions. */
void counters_sum(int tool_id, unsigned long long calls[MPI_LAST_FUNC]);

#endif
