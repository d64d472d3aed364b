/* SPDX-License-Identifier: MIT */
/* The callbacks around every call: what it costs and carries, noted in this thread's tables. */
#ifndef QMPI_TOOL_PROFILE_RECORD_RECORD_H
#define QMPI_TOOL_PROFILE_RECORD_RECORD_H

#include "layer.h"

#include <qmpi/observer.h>

void observe_before(const QMPIX_Call *call, QMPIX_Word *word);
void observe_before_deep(const QMPIX_Call *call, QMPIX_Word *word); /* with options.depth > 1 */
void observe_after(const QMPIX_Call *call, QMPIX_Word *word);

/* In place of observe_after, if the call counts with another time, in ticks. */
void observe_end(const QMPIX_Call *call, const QMPIX_Word *word, uint64_t time);

#endif
