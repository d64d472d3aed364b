/* SPDX-License-Identifier: MIT */
/* This part writes the results of the tool count: a table on stderr, or a JSON file. */
#ifndef QMPI_TOOL_COUNT_REPORT_H
#define QMPI_TOOL_COUNT_REPORT_H

#include "toolkit/toolkit.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>

enum count_end {
    COUNT_OVER,        /* MPI_Finalize was called, or all sessions were finalized. */
    COUNT_LOST,        /* The process ended without MPI_Finalize, or with an open session. */
    COUNT_OUTSIDE,     /* The process has no rank (tool_world_has_rank). */
    COUNT_NOT_COMBINED /* The ranks could not be combined in MPI_Finalize. */
};

struct count_summary {
    int ranks;            /* number of processes */
    int rank;             /* the rank if this is the summary of one process alone, or -1 */
    int process;          /* its process id, for COUNT_OUTSIDE; unused if `rank` is -1 */
    enum count_end end;   /* how that process ended; unused if `rank` is -1 */
    const char *programs; /* names of the programs for the heading, or NULL to leave them out */
    /* The sum, minimum and maximum over all ranks. */
    unsigned long long calls[MPI_LAST_FUNC];
    unsigned long long min[MPI_LAST_FUNC];
    unsigned long long max[MPI_LAST_FUNC];
};

/* Prints the table of layer `tool_id` to stderr. The functions with most calls come first. */
void count_report_table(const struct count_summary *summary, int tool_id);

/* Writes the JSON file. If it cannot be written, prints a message with the reason and returns
 * false. */
bool count_report_json(const struct count_summary *summary, int tool_id, const char *file);

/* Writes the numbers of a process that the signal with the name `signal` ends. Writes the JSON file
 * `output`, or prints the table to stderr if `output` is NULL or cannot be written. Does nothing if
 * no call was counted. The signal's handler may call this function, but only one thread at a
 * time. */
void count_report_signal(const unsigned long long calls[MPI_LAST_FUNC], int tool_id, int rank,
                         struct tool_output *output, const char *signal);

#endif
