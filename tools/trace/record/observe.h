/* SPDX-License-Identifier: MIT */
/* This header declares the callbacks of the observer, which record each call. */
#ifndef QMPI_TOOL_TRACE_RECORD_OBSERVE_H
#define QMPI_TOOL_TRACE_RECORD_OBSERVE_H

#include "tools/trace/layer.h"

#include <qmpi/observer.h>

/* Determines how calls of each function are recorded according to the options of the layer. The
 * tool's `init` calls this function. */
void observe_prepare(struct layer *layer);

/* These callbacks are called before and after each call. With the option sites=yes,
 * observe_before_with_site replaces observe_before. */
void observe_before(const QMPIX_Call *call, QMPIX_Word *word);
void observe_before_with_site(const QMPIX_Call *call, QMPIX_Word *word);
void observe_after(const QMPIX_Call *call, QMPIX_Word *word);

#endif
