/* SPDX-License-Identifier: MIT */
/* Reads the events of one block, one after the other: the counterpart of trace_encode. */
#ifndef QMPI_TRACE_DECODE_H
#define QMPI_TRACE_DECODE_H

#include "trace/bytes.h"
#include "trace/event.h"
#include "trace/model.h"
#include "trace/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_KINDS_MAX 256

/* The head of a block of events, but for the calls in progress. */
struct trace_events_head {
    uint32_t location, stream;
    uint64_t number; /* of its first event in the stream */
    uint64_t events;
    uint64_t first, last; /* ticks */
};

/* Reads a head; the calls in progress at the beginning of the block are set too if `stack` is not
 * NULL. */
bool trace_events_head_read(struct trace_events_head *head, struct trace_stack *stack,
                            const void *bytes, size_t size);

struct trace_decoder {
    const uint32_t *fields; /* by kind, as the file tells them */
    struct trace_model model;
    struct trace_input codes, times, values, requests;
    uint64_t ticks, last; /* of the last event; of that of the block */
    uint64_t left;        /* events */
};

/* `body` must stay as it is until the last event of the block is read. Returns false if it is
 * invalid, or memory is exhausted. */
bool trace_decoder_begin(struct trace_decoder *decoder, const struct trace_events_head *head,
                         const void *body, size_t size);
void trace_decoder_free(struct trace_decoder *decoder);

/*
 * Sets the next event, without location, time and is_known. `kind` is set to a number that is not
 * less than TRACE_KINDS if this version does not know it. Returns false at the end of the block,
 * and, with `left` not 0, if the block is invalid.
 */
bool trace_decode(struct trace_decoder *decoder, struct trace_event *event);

#endif
