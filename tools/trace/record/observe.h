/* SPDX-License-Identifier: MIT */
/* The callbacks: what is recorded of each call. */
#ifndef QMPI_TOOL_TRACE_RECORD_OBSERVE_H
#define QMPI_TOOL_TRACE_RECORD_OBSERVE_H

#include "layer.h"

#include <qmpi/observer.h>

/* Finds how calls of each function are recorded in a layer, by its options. */
void observe_prepare(struct layer *layer);

/* Around each call; with sites=yes, the second one before it. */
void observe_before(const QMPIX_Call *call, QMPIX_Word *word);
void observe_before_with_site(const QMPIX_Call *call, QMPIX_Word *word);
void observe_after(const QMPIX_Call *call, QMPIX_Word *word);

#endif
