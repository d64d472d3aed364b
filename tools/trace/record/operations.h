/* SPDX-License-Identifier: MIT */
/*
 * What calls do: messages, collectives, one-sided and file accesses, objects that come and go. Each
 * becomes an event between those that tell that the call began and ended.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_OPERATIONS_H
#define QMPI_TOOL_TRACE_RECORD_OPERATIONS_H

#include "record/recorder.h"

/* What begins with a call, whose RAW_OPEN was just recorded; in `before` of a call within it, or in
 * its `after`. */
void operations_begin(struct recorder *recorder, const QMPIX_Call *call, uint64_t ticks);

/* The same of what is known only when the call has ended with success: requests that it started. */
void operations_post(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                     uint64_t ticks);

/* What ends with a call that succeeded. */
void operations_end(struct recorder *recorder, struct flight *flight, const QMPIX_Call *call,
                    uint64_t ticks);

#endif
