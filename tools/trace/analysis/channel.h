/* SPDX-License-Identifier: MIT */
/*
 * A channel: the messages from one rank to another one in one communicator, with one tag. MPI keeps
 * the order of these messages, so that their number in it identifies a message, and both ends can
 * tell it alone.
 *
 * Receives match the messages of a channel in the order in which they were posted. The place of a
 * receive in this order is known when no receive is pending that was posted earlier and may still
 * receive from the channel.
 */
#ifndef QMPI_TRACE_ANALYSIS_CHANNEL_H
#define QMPI_TRACE_ANALYSIS_CHANNEL_H

#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns a number for the channel of a message that the process sends to `peer` or receives from
 * it; the same in both processes. 0: there is none, or it cannot be told.
 */
uint64_t trace_channel_number(const struct trace_process *process, uint32_t comm, int peer, int tag,
                              bool is_send);

/*
 * The places of the receives of a process in their channels. Memory is needed only for receives
 * that are pending, and for those whose place is not known yet or was not asked for.
 */
struct trace_channel_order;
struct trace_channel_order *trace_channel_order_make(const struct trace_process *process);
void trace_channel_order_free(struct trace_channel_order *order);

/* To be called for each event of the process, in order of time. */
void trace_channel_order_add(struct trace_channel_order *order, const struct trace_event *event);

/* Says that no event follows, or that what follows belongs to other messages: receives that are
 * pending have no end, and the places in channels count from 0 on again. */
void trace_channel_order_finish(struct trace_channel_order *order);

/*
 * Sets `later` to how many places a receive is later in its channel than by its completion (below
 * 0: earlier). `completion` counts the receives of the process that have completed, from 0 on. They
 * are asked for in this order, each once. Returns false if the place is not known yet: add further
 * events.
 */
bool trace_channel_order_find(struct trace_channel_order *order, uint64_t completion,
                              int64_t *later);

/* Whether memory was exhausted. */
bool trace_channel_order_failed(const struct trace_channel_order *order);

#endif
