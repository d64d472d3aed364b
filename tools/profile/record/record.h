/* SPDX-License-Identifier: MIT */
/* The callbacks around every call: what it costs and carries, noted in this thread's tables. */
#ifndef QMPI_TOOL_PROFILE_RECORD_RECORD_H
#define QMPI_TOOL_PROFILE_RECORD_RECORD_H

#include "layer.h"

#include <qmpi/observer.h>

void observe_before(const QMPIX_Call *call, QMPIX_Word *word);
void observe_after(const QMPIX_Call *call, QMPIX_Word *word);

/* Notes a call that has no `after` in time for the result: MPI_Finalize and the like. */
void observe_at_once(struct layer *layer, const QMPIX_Call *call);

/* Around what takes time in such a call: it is named where the process is saved meanwhile. */
void record_publish(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word);
void observe_hide(struct layer *layer, const QMPIX_Word *word);

#endif
