/* SPDX-License-Identifier: MIT */
/*
 * A trace in the format of Perfetto (https://perfetto.dev): protocol buffers of the message
 * TrackEvent. It contains what slices.h says, with arguments as debug annotations. Times are those
 * of the clock of rank 0, and all identifiers are functions of the rank and the thread, so that
 * files of single ranks fit together: one after the other, they are a file of all.
 */
#ifndef QMPI_TRACE_PERFETTO_H
#define QMPI_TRACE_PERFETTO_H

#include "trace/export.h"

/* Returns false if memory is exhausted; the caller checks the stream for errors. Packets are
 * compressed if zlib is there. */
bool trace_write_perfetto(FILE *stream, const struct trace_export *export);

#endif
