/* SPDX-License-Identifier: MIT */
/* The parts of perfetto.h: packets and sequences of packets; tracks and their descriptions. Field
 * numbers are those of Perfetto's protos/perfetto/trace/. */
#ifndef QMPI_TRACE_PERFETTO_PARTS_H
#define QMPI_TRACE_PERFETTO_PARTS_H

#include "trace/perfetto.h"
#include "trace/protobuf.h"
#include "trace/slices.h"
#include "trace/table.h"

/* Tables of interned strings. */
enum interned { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_STRING = 29 };

struct perfetto_output {
    FILE *stream;
    const struct trace_export *export;
    struct protobuf block, packet, entry; /* packets to be written, and parts of one */
    uint32_t others;                      /* sequences whose number is not that of a rank */
    int64_t base;                         /* of time 0 */
    bool failed;
};

/* Packets of one track, whose times and strings refer to those before. */
struct perfetto_sequence {
    struct perfetto_output *output;
    uint32_t id;
    int64_t last;
    struct trace_table interned;
    struct protobuf event, strings; /* that is being made, and strings that it needs */
};

/* ---- Packets --------------------------------------------------------------------------------- */

/* Writes what makes the file ours, and how processes are ordered. */
void trace_perfetto_begin(struct perfetto_output *output);
void trace_perfetto_end(struct perfetto_output *output);

/* Writes a packet with a description of a track. */
void trace_perfetto_describe(struct perfetto_output *output, const struct protobuf *descriptor);

/* Begins a sequence of events of a track; `output` and `id` are set. */
void trace_perfetto_start(struct perfetto_sequence *sequence, uint64_t track);
void trace_perfetto_stop(struct perfetto_sequence *sequence);

/* Strings that events refer to. */
bool trace_perfetto_has(const struct perfetto_sequence *sequence, enum interned table,
                        uint64_t iid);
void trace_perfetto_intern(struct perfetto_sequence *sequence, enum interned table, uint64_t iid,
                           const char *text);

/* Writes the event that has been made. */
void trace_perfetto_write(struct perfetto_sequence *sequence, int64_t time);

/* ---- Tracks ---------------------------------------------------------------------------------- */

void trace_perfetto_describe_process(struct perfetto_output *output, uint32_t process);

/* Describes a track, and returns its identifier. */
uint64_t trace_perfetto_describe_track(struct perfetto_output *output, uint32_t process,
                                       enum trace_track kind, uint32_t index);

/* The number of the sequence of a track: as far as numbers suffice, a function of its rank, the
 * number of ranks and the track alone, so that files of single ranks can be joined. */
uint32_t trace_perfetto_sequence(struct perfetto_output *output, uint32_t process,
                                 enum trace_track kind, uint32_t index);

#endif
