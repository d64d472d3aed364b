/* SPDX-License-Identifier: MIT */
/*
 * What a process that a signal ends has counted, written in the signal's handler: without memory,
 * locks or streams. The same file or table as report.h writes.
 */
#ifndef QMPI_TOOL_COUNT_SIGNAL_REPORT_H
#define QMPI_TOOL_COUNT_SIGNAL_REPORT_H

/* `file` NULL, or not to be written: the table goes to stderr. `signal` is its name. */
void count_signal_report(int tool_id, int rank, const char *file, const char *signal);

#endif
