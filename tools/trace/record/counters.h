/* SPDX-License-Identifier: MIT */
/* MPI_T performance variables as counters. */
#ifndef QMPI_TOOL_TRACE_RECORD_COUNTERS_H
#define QMPI_TOOL_TRACE_RECORD_COUNTERS_H

#include "record/recorder.h"

/* After a call that has ended: records the values if the interval has passed, or if the call begins
 * or ends a region. */
void counters_sample(struct recorder *recorder, const QMPIX_Call *call);

/* Around the time in which they can be read. */
void counters_begin(struct layer *layer);
void counters_end(struct layer *layer);

#endif
