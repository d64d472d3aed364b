/* SPDX-License-Identifier: MIT */
/* One-sided accesses. */
#ifndef QMPI_TOOL_TRACE_RECORD_ACCESSES_H
#define QMPI_TOOL_TRACE_RECORD_ACCESSES_H

#include "record/recorder.h"

/* Records an access. `request`: its number, or TRACE_NO_REQUEST. */
void accesses_put(struct recorder *recorder, const QMPIX_Call *call, uint64_t request,
                  uint64_t ticks);

#endif
