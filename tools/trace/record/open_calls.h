/* SPDX-License-Identifier: MIT */
/*
 * Calls in progress within which something is to be recorded: they are opened, which is a record of
 * their own, and closed when they return. Usual calls are recorded as a whole when they return.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_OPEN_CALLS_H
#define QMPI_TOOL_TRACE_RECORD_OPEN_CALLS_H

#include "record/recorder.h"

/* The innermost calls that were left by a jump: says so, and forgets them. */
void open_calls_end_left(struct recorder *recorder, const QMPIX_Word *word);

/* The same for the calls within that of a flight, which returns. */
void open_calls_end_inner(struct recorder *recorder, const struct flight *last);

/* Opens all calls in progress: something is to be recorded within them. */
void open_calls_all(struct recorder *recorder);

/* Opens the call of a flight, if it is not open. */
void open_calls_open(struct recorder *recorder, struct flight *flight);

#endif
