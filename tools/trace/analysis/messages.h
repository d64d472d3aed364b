/* SPDX-License-Identifier: MIT */
/*
 * Numbers of messages. They are the same at both ends of a message, and each process can determine
 * them alone. The events are read twice. The first reading finds where numbers end, and which sends
 * are cancelled. During the second reading, another reading is ahead of it as far as necessary to
 * find out which receives complete in another order than that in which they match messages.
 *
 * Numbers count earlier messages. They end where data may be missing: where recording was off,
 * events were lost, or the end of a receive is not recorded. Messages and collectives that begin
 * later have no number, because all later numbers could be wrong.
 */
#ifndef QMPI_TRACE_ANALYSIS_MESSAGES_H
#define QMPI_TRACE_ANALYSIS_MESSAGES_H

#include "tools/trace/file/event.h"
#include "tools/trace/file/reader.h"

/*
 * Makes the first reading. NULL: memory is exhausted.
 *
 * With `guesses`, numbers do not end where they can be guessed. A pending receive that is freed is
 * assumed to have received a message, unless MPI_Cancel was called directly before. If recording
 * was off, it is assumed that all processes switched it off and on together, and that all messages
 * sent in between were also received in between. If the guess is right, numbers are still the same
 * at both ends.
 */
struct trace_messages;
struct trace_messages *trace_messages_read(const struct trace *trace, uint32_t process,
                                           bool guesses);
void trace_messages_free(struct trace_messages *messages);

/* Begins the second reading, or repeats it. */
void trace_messages_rewind(struct trace_messages *messages);

/* Must be called for each event of the process, in order of time. Returns the number of the message
 * that the event sends or receives, or of the collective that it begins; 0: none. */
uint64_t trace_messages_next(struct trace_messages *messages, const struct trace_event *event);

/*
 * Returns the number of the message if `event` receives it, although its source was recorded as
 * TRACE_ANY (see TRACE_IRECV of MPI_Isendrecv). `peer` of `event` is the source to try. If `takes`
 * is true, the message is counted.
 */
uint64_t trace_messages_guess(struct trace_messages *messages, const struct trace_event *event,
                              bool takes);

/*
 * Whether the last event is a receive of MPI_Isendrecv. MPI libraries do not provide its size, so
 * that of the buffer was recorded. The other end of the message has the size.
 */
bool trace_messages_lack_size(const struct trace_messages *messages);

/* Whether the process has called functions whose receives lack sizes. */
bool trace_messages_may_lack_sizes(const struct trace_process *process);

/* Whether memory was exhausted since trace_messages_rewind, so that numbers are missing. */
bool trace_messages_failed(const struct trace_messages *messages);

/* Returns the ticks from which on nothing has a number. 0: the process did not record its
 * beginning; UINT64_MAX: nothing is missing. */
uint64_t trace_messages_gap(const struct trace_messages *messages);

/* Whether no message has a number, because only some of the functions that send or receive were
 * recorded. */
bool trace_messages_are_omitted(const struct trace_process *process);

/* Returns how many collectives the process has begun on the communicator with this `id` since
 * trace_messages_rewind. */
uint64_t trace_messages_collectives(const struct trace_messages *messages, uint64_t comm);

/*
 * Forgets a channel in both processes if all of its messages have been received, the last one by
 * `receive`. The next message then gets the number of the first one. For readers of all processes
 * that do not need the number of a received message. This limits memory to channels in use,
 * although programs may use a new tag for each message.
 */
void trace_messages_forget_channel(struct trace_messages *sender, struct trace_messages *receiver,
                                   const struct trace_event *receive);

/* Whether an event sends a message, or has received one. */
bool trace_messages_is_send(const struct trace_event *event);
bool trace_messages_is_receive(const struct trace_event *event);

#endif
