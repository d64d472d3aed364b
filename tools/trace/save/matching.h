/* SPDX-License-Identifier: MIT */
/* Finds the messages of a process whose other end no process has recorded: because it was not
 * received, or with options that select what is recorded. Only they are left out of the file of a
 * process, so that all files together have both ends of each flow. */
#ifndef QMPI_TOOL_TRACE_SAVE_MATCHING_H
#define QMPI_TOOL_TRACE_SAVE_MATCHING_H

#include "toolkit/toolkit.h"
#include "trace/trace.h"

#include <stdbool.h>

/*
 * Collective. `view` is that of the own process, whose rank is `rank`; NULL: it has no trace.
 * Processes tell each other how many messages of the other one they have; only where these differ,
 * which ones. Returns false if that is not known; the caller frees `pairs` in any case.
 */
bool matching_find(struct trace_pairs *pairs, const struct trace_view *view, int rank,
                   MPI_Comm comm);

#endif
