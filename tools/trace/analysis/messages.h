/* SPDX-License-Identifier: MIT */
/*
 * Numbers of messages. A message has the same number at both ends, and each process can determine
 * it alone. The events of a process are read twice. The first reading finds out where numbers end,
 * and which sends are cancelled. During the second reading, another cursor reads ahead as far as
 * necessary to find out which receives do not complete in the order in which they match messages.
 *
 * The number of a message is derived from the number of earlier messages. Therefore, numbers end
 * where data may be missing: where recording was off, events were lost, or the end of a receive is
 * not recorded. Messages and collectives that begin later have no number, because it could be
 * wrong.
 */
#ifndef QMPI_TRACE_ANALYSIS_MESSAGES_H
#define QMPI_TRACE_ANALYSIS_MESSAGES_H

#include "tools/trace/file/event.h"
#include "tools/trace/file/reader.h"

/*
 * Makes the first reading. Returns NULL if memory is exhausted.
 *
 * With `guesses`, numbers do not end where they can be guessed. If a pending receive is freed, it
 * is assumed to have received a message, unless MPI_Cancel was called directly before. If recording
 * was off, it is assumed that all processes switched it off and on together, and that no message
 * was sent before such a switch and received after it. If these guesses are right, numbers are
 * still the same at both ends.
 */
struct trace_messages;
struct trace_messages *trace_messages_read(const struct trace *trace, uint32_t process,
                                           bool guesses);
void trace_messages_free(struct trace_messages *messages);

/* Begins the second reading, or repeats it. */
void trace_messages_rewind(struct trace_messages *messages);

/* Returns the number of the message that the event sends or receives, or of the collective that it
 * begins, or 0. Must be called for each event of the process, in order of time. */
uint64_t trace_messages_next(struct trace_messages *messages, const struct trace_event *event);

/*
 * For a receive whose source was recorded as TRACE_ANY (TRACE_IRECV of MPI_Isendrecv): the caller
 * sets `peer` of a copy of the event to a possible source. Returns the number that the message has
 * if it comes from there, or 0 if this is unknown. If `takes` is true, counts the message.
 */
uint64_t trace_messages_guess(struct trace_messages *messages, const struct trace_event *event,
                              bool takes);

/*
 * Returns whether the last event that trace_messages_next was given is a receive of MPI_Isendrecv
 * or MPI_Isendrecv_replace. MPI libraries do not provide the size of the received message, so the
 * size of the buffer was recorded. The send of the message has the right size.
 */
bool trace_messages_lack_size(const struct trace_messages *messages);

/* Returns whether the process has called functions whose receives lack sizes. */
bool trace_messages_may_lack_sizes(const struct trace_process *process);

/* Returns whether numbers are missing because memory was exhausted since trace_messages_rewind. */
bool trace_messages_failed(const struct trace_messages *messages);

/* Returns the ticks from which on nothing has a number. This is 0 if the beginning of the process
 * is missing, and UINT64_MAX if nothing is missing. */
uint64_t trace_messages_gap(const struct trace_messages *messages);

/* Returns whether no message has a number, because only some of the functions that send or receive
 * were recorded. */
bool trace_messages_are_omitted(const struct trace_process *process);

/* Returns how many collectives the process has begun on the communicator with this `id` since
 * trace_messages_rewind; with `guesses`, since recording was last switched off, if that is later.
 */
uint64_t trace_messages_collectives(const struct trace_messages *messages, uint64_t comm);

/*
 * Forgets the channel of `receive` in both processes if all of its messages have been received, and
 * the receiver has many channels. The next message of the channel then gets the number of the first
 * one. Therefore, this is only for code that reads all processes, and needs the number of a message
 * only until its receive. It limits memory to channels in use, although programs may use a new tag
 * for each message.
 */
void trace_messages_forget_channel(struct trace_messages *sender, struct trace_messages *receiver,
                                   const struct trace_event *receive);

/* These functions return whether an event sends a message, or has received one. */
bool trace_messages_is_send(const struct trace_event *event);
bool trace_messages_is_receive(const struct trace_event *event);

#endif
