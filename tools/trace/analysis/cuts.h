/* SPDX-License-Identifier: MIT */
/*
 * Finds the messages and collectives that are only partly in the window of a view: some of their
 * events are in the window, and others before or after it. Only the processes in the view count,
 * and what they have not recorded counts as neither. Memory is needed only for these messages and
 * collectives, and for those of which not all events have been read so far.
 */
#ifndef QMPI_TRACE_ANALYSIS_CUTS_H
#define QMPI_TRACE_ANALYSIS_CUTS_H

#include "tools/trace/analysis/view.h"
#include "util/util.h"

struct trace_cuts {
    struct qmpi_table messages, collectives; /* by their numbers; the values are not used */
};

/* Reads all events of the processes in the view. Returns false if memory is exhausted or a file
 * cannot be read. The result must be freed in any case. */
bool trace_cuts_find(struct trace_cuts *cuts, const struct trace_view *view);
void trace_cuts_free(struct trace_cuts *cuts);

bool trace_cuts_have_message(const struct trace_cuts *cuts, uint64_t message);
bool trace_cuts_have_collective(const struct trace_cuts *cuts, uint64_t collective);

#endif
