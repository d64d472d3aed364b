/* SPDX-License-Identifier: MIT */
/*
 * The blocks of events. An encoder converts the events of one stream to blocks, and a decoder reads
 * the events of one block. No function here makes MPI calls. docs/run/trace-format.md describes the
 * format.
 */
#ifndef QMPI_TRACE_FILE_EVENT_CODEC_H
#define QMPI_TRACE_FILE_EVENT_CODEC_H

#include "tools/trace/file/bytes.h"
#include "tools/trace/file/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Calls in progress ----------------------------------------------------------------------- */

/* The maximum number of calls in progress in a stream. Deeper calls are not recorded; real programs
 * do not have them. */
#define TRACE_EVENT_CALLS_MAX 10000

struct trace_event_stack_call {
    uint32_t function, site;
    uint64_t ticks;  /* ticks of its TRACE_ENTER */
    uint64_t number; /* number of that event in the stream */
};

/* The calls in progress of a stream. The outermost call is first. */
struct trace_event_stack {
    struct trace_event_stack_call *calls;
    size_t depth, room;
};

void trace_event_stack_free(struct trace_event_stack *stack);
bool trace_event_stack_push(struct trace_event_stack *stack, struct trace_event_stack_call call);

/* Pushes the call that `event` begins, or pops the one that it ends. `ticks` and `number` are those
 * with which the event is stored. Returns false if memory is exhausted. */
static inline bool trace_event_stack_note(struct trace_event_stack *stack,
                                          const struct trace_event *event, uint64_t ticks,
                                          uint64_t number)
{
    if (event->kind == TRACE_ENTER)
        return trace_event_stack_push(
            stack, (struct trace_event_stack_call){event->function, event->site, ticks, number});
    if ((event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED) && stack->depth)
        stack->depth--;
    return true;
}

/* These functions write and read the stack at the beginning of a block. `number` and `ticks` are
 * those of the first event of the block. They return false if memory is exhausted or the input is
 * invalid. */
bool trace_event_stack_put(const struct trace_event_stack *stack, struct trace_bytes *out,
                           uint64_t ticks, uint64_t number);
bool trace_event_stack_take(struct trace_event_stack *stack, struct trace_bytes_input *input,
                            uint64_t ticks, uint64_t number);

/* Does the same as trace_event_is_valid for calls in progress. */
bool trace_event_stack_is_valid(const struct trace_process *process, uint32_t unknown,
                                struct trace_event_stack *stack);

/* ---- Writing --------------------------------------------------------------------------------- */

/* Opens the library that compresses blocks. If this function is not called, the library is opened
 * when the first block is compressed. */
void trace_event_encoder_start(void);

/*
 * The encoder of one stream. Its blocks must be written in their order; blocks of other streams may
 * be written between them. If only a part of a block can be written (disk full), the file must be
 * truncated to the beginning of the block before another one is written. Otherwise, a reader would
 * take the following bytes for the rest of the block.
 *
 * A location has several encoders if a signal handler interrupts the recording of an event. The
 * events of the handler are then a separate stream, which readers merge by time. `stream` is a
 * number that no other encoder of this location has; 0 is the thread itself. `compress` says
 * whether to compress blocks if libzstd is available. Returns NULL if memory is exhausted.
 */
struct trace_event_encoder;
struct trace_event_encoder *trace_event_encoder_make(uint32_t location, uint32_t stream,
                                                     bool compress);
void trace_event_encoder_free(struct trace_event_encoder *encoder);

/* Adds an event. Uses only the members that apply to its kind, and ignores `location`, `time` and
 * `is_known`. If `ticks` is less than that of the last event, the `ticks` of the last event is
 * stored. Ignores the begin and the end of calls that are deeper than TRACE_EVENT_CALLS_MAX. If
 * memory is exhausted, returns false and does not add the event. */
bool trace_event_encoder_add(struct trace_event_encoder *encoder, const struct trace_event *event);

/* Returns the current size of the block in bytes, before compression. Blocks of 64 to 256 KiB are
 * suitable; no block may have more than 8 MiB. */
size_t trace_event_encoder_size(const struct trace_event_encoder *encoder);

/* Appends to `out`, as one block, the events that were added since the last call of this function;
 * if there are none, appends nothing. The block begins with the calls that were in progress before
 * its first event, so that it can be read without earlier blocks. Returns false if memory is
 * exhausted; these events are then lost. */
bool trace_event_encoder_finish(struct trace_event_encoder *encoder, struct trace_bytes *out);

/* ---- Reading --------------------------------------------------------------------------------- */

/* The head of a block of events, without the calls in progress. */
struct trace_event_decoder_head {
    uint32_t location, stream;
    uint64_t number; /* number of the block's first event in the stream */
    uint64_t events;
    uint64_t first, last; /* ticks */
};

/* Reads a head. If `stack` is not NULL, sets it to the calls in progress at the beginning of the
 * block. Returns false if the head is invalid or memory is exhausted. */
bool trace_event_decoder_read_head(struct trace_event_decoder_head *head,
                                   struct trace_event_stack *stack, const void *bytes, size_t size);

struct trace_event_decoder {
    const uint32_t *fields; /* the fields that apply, indexed by kind, as the file describes them */
    struct trace_event_model *model;
    struct trace_bytes_input codes, times, values, requests;
    /* Times of the event that was read last, and of the last event of the block. */
    uint64_t ticks, last;
    uint64_t left; /* number of events that remain */
};

/* Begins to read a block. `body` must remain unchanged until the last event of the block is read.
 * Returns false if the block is invalid or memory is exhausted. */
bool trace_event_decoder_begin(struct trace_event_decoder *decoder,
                               const struct trace_event_decoder_head *head, const void *body,
                               size_t size);
void trace_event_decoder_free(struct trace_event_decoder *decoder);

/* Sets all members of the next event except `location`, `time` and `is_known`. `kind` is
 * TRACE_KINDS or larger if this version does not know the kind. Returns false at the end of the
 * block, and also if the block is invalid; in the latter case, `left` is not 0. */
bool trace_event_decoder_next(struct trace_event_decoder *decoder, struct trace_event *event);

#endif
