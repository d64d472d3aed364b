/* SPDX-License-Identifier: MIT */
/*
 * Observers: layers that see all calls through one pair of callbacks. The interceptors of such a
 * layer are the generated functions observe_X: they create the record, and call `before`, the next
 * layer, and `after`. This header declares the observer of each layer, which they read.
 */
#ifndef QMPI_OBSERVE_OBSERVE_H
#define QMPI_OBSERVE_OBSERVE_H

#include "dispatch/dispatch.h"
#include "observe/arch/address.h"
#include "observe/record.h"

/* Indexed by tool_id; both callbacks are set if the layer has an observer. */
extern QMPIX_Observer qmpi_observers[QMPI_LAYERS_MAX + 1] QMPI_HIDDEN;

/* Whether the observer of the layer requested this function; some are intercepted only for internal
 * use. */
bool qmpi_observe_wanted(int tool_id, int number);

#endif
