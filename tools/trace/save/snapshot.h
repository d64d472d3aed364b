/* SPDX-License-Identifier: MIT */
/* save-signal=: a signal that makes the writer write what is kept in memory. */
#ifndef QMPI_TOOL_TRACE_SAVE_SNAPSHOT_H
#define QMPI_TOOL_TRACE_SAVE_SNAPSHOT_H

struct layer;

/* Installs the handler, if the program has none for this signal. Again: does nothing. */
void snapshot_watch(const struct layer *layer);

/* Writes what is kept. Any thread, also in a signal handler. */
void snapshot_request(struct layer *layer);

#endif
