/* SPDX-License-Identifier: MIT */
/*
 * Observers: layers that see every call through one pair of callbacks. The generated observe_X, one
 * for each function, is such a layer's interceptor: it makes the record, calls `before`, the next
 * layer, and `after`. Here is what it reads: the observer of each layer.
 */
#ifndef QMPI_OBSERVE_OBSERVE_H
#define QMPI_OBSERVE_OBSERVE_H

#include "dispatch/chain.h"
#include "observe/arch/address.h"
#include "observe/record.h"

/* By tool_id; both callbacks are set wherever the layer has an observer. */
extern QMPIX_Observer qmpi_observers[QMPI_LAYERS_MAX + 1] QMPI_HIDDEN;

/* Whether the layer's observer asked for this function: some are intercepted for our own needs. */
bool qmpi_observe_wanted(int tool_id, int number);

#endif
