/* SPDX-License-Identifier: MIT */
/* Finds the messages of which one end was recorded by a process, but the other end by none, because
 * they were not received or because of options. The file of the process contains no flows (arrows)
 * for these messages. Then, the files of all processes together contain both ends of each flow. */
#ifndef QMPI_TOOL_TRACE_SAVE_MATCHING_H
#define QMPI_TOOL_TRACE_SAVE_MATCHING_H

#include "toolkit/toolkit.h"
#include "tools/trace/export/trace.h"

#include <stdbool.h>

/* Stores these messages in `others` of *pairs. Collective over `comm`, which contains all
 * processes. `view` is the view of the calling process, whose world rank is `rank`, or NULL if it
 * has no trace. Returns false if the messages cannot be determined. The caller frees `pairs` in any
 * case. */
bool matching_find_unmatched(struct trace_pairs *pairs, const struct trace_view *view, int rank,
                             MPI_Comm comm);

#endif
