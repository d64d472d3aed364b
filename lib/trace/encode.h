/* SPDX-License-Identifier: MIT */
/*
 * Writing the file of a process. An encoder turns the events of one stream (of one location, in
 * order of time) into blocks, which can be written one after the other, in any order of streams. No
 * function here makes MPI calls. docs/run/trace-format.md describes the file.
 *
 * If a block can be written only in part (a full disk), truncate the file to where it began before
 * another one is written: a reader takes what follows a whole beginning for the rest of the block.
 */
#ifndef QMPI_TRACE_ENCODE_H
#define QMPI_TRACE_ENCODE_H

#include "trace/bytes.h"
#include "trace/definitions.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The header of a file: what is known of the process at its start (file, run, host, program, pid,
 * clock, start). Members of struct trace_process that become known later have blocks of their own.
 */
void trace_put_header(struct trace_bytes *out, const struct trace_process *process);

/* Definitions: each adds one record to the block of definitions that `out` is; the index is that by
 * which events refer to it. trace_put_definitions makes a block of it. A definition with an index
 * that exists replaces it (a communicator that got a name). */
void trace_put_function(struct trace_bytes *out, uint32_t index,
                        const struct trace_function *function);
void trace_put_library(struct trace_bytes *out, uint32_t index, const char *path);
void trace_put_site(struct trace_bytes *out, uint32_t index, const struct trace_site *site);
void trace_put_comm(struct trace_bytes *out, uint32_t index, const struct trace_comm *comm);
void trace_put_window(struct trace_bytes *out, uint32_t index, const struct trace_window *window);
void trace_put_file(struct trace_bytes *out, uint32_t index, const struct trace_file *file);
void trace_put_region(struct trace_bytes *out, uint32_t index, const struct trace_region *region);
void trace_put_counter(struct trace_bytes *out, uint32_t index,
                       const struct trace_counter *counter);
void trace_put_location(struct trace_bytes *out, uint32_t index,
                        const struct trace_location *location);
void trace_put_world(struct trace_bytes *out, const uint64_t run[2], int rank, int ranks,
                     const char *mpi);
void trace_put_clock(struct trace_bytes *out, double tick, const struct trace_clock_point *points,
                     size_t count);
void trace_put_end(struct trace_bytes *out,
                   const struct trace_process *process); /* end…, dropped, memory, is_ring, omits */

void trace_put_alive(struct trace_bytes *out, uint64_t ticks); /* the process runs then */

/* Appends a block of the definitions in `records`, which it empties, to `out`. */
void trace_put_definitions(struct trace_bytes *out, struct trace_bytes *records);

/*
 * The encoder of one stream. A location has several if a signal handler interrupts the recording of
 * an event: what the handler does is then a stream of its own, which readers insert by time.
 * `stream` is a number that no other encoder of this location has; 0 is the thread itself.
 * `compress`: whether to compress blocks, if libzstd is there. NULL: memory is exhausted.
 */
struct trace_encoder;
struct trace_encoder *trace_encoder_make(uint32_t location, uint32_t stream, bool compress);
void trace_encoder_free(struct trace_encoder *encoder);

/* Adds an event. Only the members that apply to its kind are used, and neither `location`, `time`
 * nor `is_known`. A time before that of the last event counts as that. Returns false if memory is
 * exhausted: the event is then not in the block. */
bool trace_encode(struct trace_encoder *encoder, const struct trace_event *event);

/* How many bytes the block has so far, before it is compressed. Blocks of 64 to 256 KiB are good;
 * no block may have more than 8 MiB. */
size_t trace_encoder_size(const struct trace_encoder *encoder);

/* Appends what was added since the last call, as a block that can be read without any earlier one
 * (it tells which calls were in progress at its beginning), to `out`. */
bool trace_encoder_finish(struct trace_encoder *encoder, struct trace_bytes *out);

#endif
