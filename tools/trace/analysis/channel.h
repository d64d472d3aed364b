/* SPDX-License-Identifier: MIT */
/*
 * A channel consists of the messages from one rank to another rank in one communicator with one
 * tag. MPI keeps the order of these messages. Therefore, a message is identified by its position in
 * this order, which both ends can determine without communication.
 *
 * Receives match the messages of a channel in the order in which they were posted. The place of a
 * receive in this order is known once all receives that were posted earlier and may receive from
 * the channel have completed.
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
 * it. The number is the same in both processes. Returns 0 if there is no channel, or it is unknown.
 */
uint64_t trace_channel_number(const struct trace_process *process, uint32_t comm, int peer, int tag,
                              bool is_send);

/*
 * Determines the places of the receives of a process in their channels. Memory is needed for
 * receives that are pending, for those whose place is unknown or was not asked for yet, and for a
 * limited number of idle channels.
 */
struct trace_channel_order;
struct trace_channel_order *trace_channel_order_make(const struct trace_process *process);
void trace_channel_order_free(struct trace_channel_order *order);

/* Must be called for each event of the process, in order of time. */
void trace_channel_order_add(struct trace_channel_order *order, const struct trace_event *event);

/* Must be called when no event follows, and when the layer is switched off (TRACE_OFF), after which
 * the messages of each channel are counted anew. Pending receives then have no end, and places in
 * channels start at 0 again. */
void trace_channel_order_finish(struct trace_channel_order *order);

/*
 * Sets `later` to the place of a receive in its channel minus the number of receives of this
 * channel that completed before it. `completion` is the number of the receive among the completed
 * receives of the process that have a channel, from 0 on. Receives must be asked for in this order,
 * each until the result is true. Returns false if the place is not known yet and further events
 * must be added.
 */
bool trace_channel_order_find(struct trace_channel_order *order, uint64_t completion,
                              int64_t *later);

/* Returns whether memory was exhausted. */
bool trace_channel_order_failed(const struct trace_channel_order *order);

#endif
