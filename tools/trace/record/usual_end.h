/* SPDX-License-Identifier: MIT */
/*
 * The record of a usual call, the only one of its thread, that is more than the times: it is one
 * record, too, made in a few steps. For the callbacks, which have taken the level, and whose level
 * is left here.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_USUAL_END_H
#define QMPI_TOOL_TRACE_RECORD_USUAL_END_H

#include "record/recorder.h"

/* Of a call that sends or receives one message. */
void usual_end_message(const QMPIX_Call *call, QMPIX_Word *word, struct recorder *recorder,
                       bool sends);

/* Of a call whose communicator is told. */
void usual_end_with_comm(const QMPIX_Call *call, QMPIX_Word *word, struct recorder *recorder);

#endif
