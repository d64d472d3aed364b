/* SPDX-License-Identifier: MIT */
/*
 * Numbers of messages, which one process can find alone: they are the same at both ends of a
 * message. The events are read twice: first to learn where numbers end, and which sends are
 * cancelled. The second reading is accompanied by another one, which is ahead of it by as much as
 * is needed to learn which receives complete in another order than that in which they match
 * messages.
 *
 * Numbers count what came before. They end where something may be missing: where recording was off,
 * events were lost, or the end of a receive is not seen. What is sent, received or begun from there
 * on has no number, because all later ones could be wrong.
 */
#ifndef QMPI_TRACE_ANALYSIS_MESSAGES_H
#define QMPI_TRACE_ANALYSIS_MESSAGES_H

#include "tools/trace/file/event.h"
#include "tools/trace/file/reader.h"

/*
 * The first reading. NULL: memory is exhausted.
 *
 * With `guesses`, numbers do not end where they can be guessed: a receive that is freed while it is
 * pending has received a message, unless MPI_Cancel was called directly before; and if recording
 * was off, all processes switched it off and on together, and all messages sent meanwhile were
 * received meanwhile. Numbers are then still the same at both ends if the guess is right.
 */
struct trace_messages;
struct trace_messages *trace_messages_read(const struct trace *trace, uint32_t process,
                                           bool guesses);
void trace_messages_free(struct trace_messages *messages);

/* Begins the second reading, or another one. */
void trace_messages_rewind(struct trace_messages *messages);

/* To be called for each event of the process, in order of time. Returns the number of the message
 * that it sends or receives, or of the collective that it begins; 0: none. */
uint64_t trace_messages_next(struct trace_messages *messages, const struct trace_event *event);

/*
 * Returns the number of the message if `event` receives it, although its source was recorded as
 * TRACE_ANY (see TRACE_IRECV of MPI_Isendrecv): `peer` of `event` is the source to try. Counts the
 * message if `takes`.
 */
uint64_t trace_messages_guess(struct trace_messages *messages, const struct trace_event *event,
                              bool takes);

/*
 * Whether the last event is a receive of MPI_Isendrecv. MPI libraries do not tell its size: that of
 * the buffer was recorded. The other end of the message knows it.
 */
bool trace_messages_lack_size(const struct trace_messages *messages);

/* Whether the process has called such functions. */
bool trace_messages_may_lack_sizes(const struct trace_process *process);

/* Whether memory was exhausted since trace_messages_rewind, so that numbers are missing. */
bool trace_messages_failed(const struct trace_messages *messages);

/* The ticks from which on nothing has a number: 0 if the process did not record its beginning,
 * UINT64_MAX if nothing is missing. */
uint64_t trace_messages_gap(const struct trace_messages *messages);

/* Whether messages have no numbers at all, because only some functions that send or receive were
 * recorded. */
bool trace_messages_are_omitted(const struct trace_process *process);

/* How many collectives the process has begun on a communicator since trace_messages_rewind, by its
 * `id`. */
uint64_t trace_messages_collectives(const struct trace_messages *messages, uint64_t comm);

/*
 * Forgets a channel in both processes if all of its messages have been received, the last one by
 * `receive`: the next message then has the number of the first one. For readers of all processes
 * that need no number of a message that was received. With it, memory is needed only for channels
 * that are in use, although programs may use a new tag for each message.
 */
void trace_messages_forget_channel(struct trace_messages *sender, struct trace_messages *receiver,
                                   const struct trace_event *receive);

/* Whether an event sends, or has received, a message. */
bool trace_messages_is_send(const struct trace_event *event);
bool trace_messages_is_receive(const struct trace_event *event);

#endif
