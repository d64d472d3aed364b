/* SPDX-License-Identifier: MIT */
/*
 * Which message an event sends or receives, as one process can tell it: the numbers of a message
 * are the same at both of its ends. The events are read twice: first to learn which receives
 * complete in another order than that in which they match messages, and which sends are cancelled.
 */
#ifndef QMPI_TRACE_MESSAGES_H
#define QMPI_TRACE_MESSAGES_H

#include "trace/event.h"
#include "trace/reader.h"

/* The first reading. NULL: memory is exhausted. */
struct trace_messages;
struct trace_messages *trace_messages_read(const struct trace *trace, uint32_t process);
void trace_messages_free(struct trace_messages *messages);

/* Begins the second reading, or another one. */
void trace_messages_rewind(struct trace_messages *messages);

/* To be called for each event of the process, in order of time. Returns the number of the message
 * that it sends or receives, or of the collective that it begins; 0: none. */
uint64_t trace_messages_next(struct trace_messages *messages, const struct trace_event *event);

/* Whether memory was exhausted since trace_messages_rewind, so that numbers are missing. */
bool trace_messages_failed(const struct trace_messages *messages);

/* Whether recording was off for a while, or events were lost, or the end of a receive is not seen:
 * numbers may be wrong. */
bool trace_messages_have_gaps(const struct trace_messages *messages);

/* How many collectives the process has begun on a communicator since trace_messages_rewind, by its
 * `id`. */
uint64_t trace_messages_collectives(const struct trace_messages *messages, uint64_t comm);

/* What kinds of events are. */
bool trace_is_send(const struct trace_event *event);
bool trace_is_receive(const struct trace_event *event);

#endif
