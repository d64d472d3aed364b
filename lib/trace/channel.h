/* SPDX-License-Identifier: MIT */
/*
 * A channel: the messages from one rank to another one in one communicator, with one tag. MPI keeps
 * the order of these messages, so that their number in it identifies a message, and both ends can
 * tell it alone.
 */
#ifndef QMPI_TRACE_CHANNEL_H
#define QMPI_TRACE_CHANNEL_H

#include "trace/definitions.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns a number for the channel of a message that the process sends to `peer` or receives from
 * it; the same in both processes. 0: there is none, or it cannot be told.
 */
uint64_t trace_channel(const struct trace_process *process, uint32_t comm, int peer, int tag,
                       bool is_send);

/* Returns the number of a collective: `count` others came before it on the communicator in this
 * process. The same in all processes. 0: it cannot be told. */
uint64_t trace_collective(const struct trace_process *process, uint32_t comm, uint64_t count);

#endif
