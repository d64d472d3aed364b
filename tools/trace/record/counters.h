/* SPDX-License-Identifier: MIT */
/*
 * MPI_T performance variables as counters: of the MPI library, and what layers publish. They are
 * read when a call has ended, if the interval has passed, and where a region begins or ends.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_COUNTERS_H
#define QMPI_TOOL_TRACE_RECORD_COUNTERS_H

#include "record/recorder.h"

/* Around the time in which they can be read: from MPI_Init to MPI_Finalize. */
void counters_begin(struct layer *layer);
void counters_end(struct layer *layer);

/* After a call that has ended. */
void counters_sample(struct recorder *recorder, const QMPIX_Call *call);

#endif
