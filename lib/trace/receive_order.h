/* SPDX-License-Identifier: MIT */
/*
 * The order in which receives match messages: that in which they were posted, among those that
 * receive from one channel. It is known when no receive is pending that was posted earlier and may
 * still receive from the channel.
 */
#ifndef QMPI_TRACE_RECEIVE_ORDER_H
#define QMPI_TRACE_RECEIVE_ORDER_H

#include "trace/definitions.h"
#include "trace/event.h"

#include <stddef.h>

/* A receive that is not where its completion would be: `completion` counts the receives of the
 * process that have completed, `number` the messages of the channel. */
struct receive_exception {
    uint64_t completion, number;
};

struct receive_order;
struct receive_order *receive_order_make(const struct trace_process *process);
void receive_order_free(struct receive_order *order);

/* To be called for each event of the process, in order of time. */
void receive_order_add(struct receive_order *order, const struct trace_event *event);

/* Whether a request is that of a receive that is pending. */
bool receive_order_is_pending(const struct receive_order *order, uint64_t request);

/* Returns the receives that are not in the order of their completion, by completion, which the
 * caller frees (NULL: none). Sets `failed` if memory was exhausted. */
struct receive_exception *receive_order_finish(struct receive_order *order, size_t *count,
                                               bool *failed);

#endif
