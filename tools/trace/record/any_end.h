/* SPDX-License-Identifier: MIT */
/*
 * What is recorded when a call has returned, whatever it is and wherever it was made: what it did
 * is told by events between its beginning and its end. usual_end.h has the short way of usual
 * calls.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_ANY_END_H
#define QMPI_TOOL_TRACE_RECORD_ANY_END_H

#include "layer.h"

#include <qmpi/observer.h>

void any_end(const QMPIX_Call *call, const QMPIX_Word *word);

#endif
