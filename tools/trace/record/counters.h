/* SPDX-License-Identifier: MIT */
/* This part records MPI_T performance variables of the MPI library and of layers as counters. They
 * are read after MPI_Pcontrol, which may begin or end a region, and after another call outside of
 * MPI_T if the interval has passed. */
#ifndef QMPI_TOOL_TRACE_RECORD_COUNTERS_H
#define QMPI_TOOL_TRACE_RECORD_COUNTERS_H

#include "tools/trace/record/recorder.h"

/* These functions open the MPI_T session when MPI has been initialized, and close it before MPI is
 * finalized. */
void counters_begin(struct layer *layer);
void counters_end(struct layer *layer);

/* Records the values if they are due. This function is called after a call has ended. */
void counters_sample(struct recorder *recorder, const QMPIX_Call *call);

#endif
