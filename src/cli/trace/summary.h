/* SPDX-License-Identifier: MIT */
/* The figures of a summary of a trace. */
#ifndef QMPI_CLI_TRACE_SUMMARY_H
#define QMPI_CLI_TRACE_SUMMARY_H

#include "trace/trace.h"

/* The calls of a function, by its name. */
struct entry {
    const char *name, *group;
    uint64_t calls, bytes;
    double time, longest;
};

struct summary {
    const struct trace_view *view;
    struct entry *entries;
    int entry_count;
    uint64_t events, calls, messages, bytes, collectives, accesses, files;
    double mpi, total; /* seconds in MPI, and in all, of all threads and processes */
};

/* Counts the events of a process. Returns false if memory is exhausted. */
bool summary_count(struct summary *summary, uint32_t index);

#endif
