/* SPDX-License-Identifier: MIT */
/*
 * A trace in the format of Perfetto (https://perfetto.dev): protocol buffers of the message
 * TrackEvent. Each thread is a track of slices, one for a call, with its arguments as debug
 * annotations; regions and counters are tracks of their process. A message is a flow between two
 * instants, one when it is sent and one when it has been received; members of one collective have
 * the same correlation id. Times are those of the clock of rank 0, so that files of single ranks
 * fit together, too.
 */
#ifndef QMPI_TRACE_PERFETTO_H
#define QMPI_TRACE_PERFETTO_H

#include "trace/export.h"

/* Returns false if memory is exhausted; the caller checks the stream for errors. Packets are
 * compressed if zlib is there. */
bool trace_write_perfetto(FILE *stream, const struct trace_export *export);

#endif
