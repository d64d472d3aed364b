/* SPDX-License-Identifier: MIT */
/* What count writes: a table for people on stderr, or a JSON file. */
#ifndef QMPI_TOOL_COUNT_REPORT_H
#define QMPI_TOOL_COUNT_REPORT_H

#include <qmpi/qmpi.h>

#include <stdbool.h>

struct count_summary {
    int ranks; /* how many processes are in it */
    int rank;  /* the process that it is of, where it is of one alone; else -1 */
    bool lost; /* that one ended without MPI_Finalize, or with a session that was not finalized */
    unsigned long long calls[MPI_LAST_FUNC]; /* sum over ranks */
    unsigned long long min[MPI_LAST_FUNC];
    unsigned long long max[MPI_LAST_FUNC];
};

/* Stores the functions that were called, most calls first, then by name; how many. Safe in a signal
 * handler. */
int count_report_sort(const unsigned long long calls[MPI_LAST_FUNC], int order[MPI_LAST_FUNC]);

/* Prints the table of layer `tool_id` to stderr, most calls first. */
void count_report_table(const struct count_summary *summary, int tool_id);

/* Writes the JSON file. False: it cannot be written; a message said why. */
bool count_report_json(const struct count_summary *summary, int tool_id, const char *file);

#endif
