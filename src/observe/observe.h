/* SPDX-License-Identifier: MIT */
/*
 * Observers: layers that see the calls of many functions through one pair of callbacks. The
 * interceptors of such a layer are the generated functions observe_X: they create the record, and
 * call `before`, the next layer, and `after`. enter_observe_X does the same for the first layer of
 * a chain, and is at the same time the trampoline (dispatch/node.h). Adjacent observers form a run
 * (observe.c): the topmost one calls the callbacks of all. This header declares the observer of
 * each layer, which these functions read.
 */
#ifndef QMPI_OBSERVE_OBSERVE_H
#define QMPI_OBSERVE_OBSERVE_H

#include "dispatch/dispatch.h"
#include "observe/arch/address.h"
#include "observe/attributes.h"
#include "observe/call.h"
#include "observe/record.h"

/* Indexed by tool_id; both callbacks are set if the layer has an observer. */
extern QMPIX_Observer qmpi_observers[QMPI_LAYERS_MAX + 1] QMPI_HIDDEN;

/* Used in place of a callback that an observer does not have. */
void qmpi_observe_nothing(const QMPIX_Call *call, QMPIX_Word *word);

/* Completes a new node of a layer with an observer: alone, or as the top of a run with the layers
 * below. This is the member `observe` of struct qmpi_chain_layer. */
void qmpi_observe_node(struct qmpi_node *node);

/* Replaces the terminators of functions that create communicators by functions that also record the
 * new communicators. Called before the chains are built. Until an observer asks for identities,
 * this costs one test in these functions. */
void qmpi_observe_creators(qmpi_function **terminators);

/* Prints with QMPI_DEBUG what a new layer observes, if it has an observer. */
void qmpi_observe_report(int tool_id);

#endif
