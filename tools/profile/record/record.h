/* SPDX-License-Identifier: MIT */
/* The callbacks of the observer, which count each call in the tables of its thread. */
#ifndef QMPI_TOOL_PROFILE_RECORD_RECORD_H
#define QMPI_TOOL_PROFILE_RECORD_RECORD_H

#include "tools/profile/layer.h"

#include <qmpi/observer.h>

/* These record a call of any MPI function. record_before_deep takes the place of record_before if
 * options.depth is more than 1. */
void record_before(const QMPIX_Call *call, QMPIX_Word *word);
void record_before_deep(const QMPIX_Call *call, QMPIX_Word *word);
void record_after(const QMPIX_Call *call, QMPIX_Word *word);

/* Merges the results of all ranks in MPI_Finalize: see QMPIX_Register_finalizer. */
void record_finalize(int tool_id, uint64_t ticks);

#endif
