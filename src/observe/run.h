/* SPDX-License-Identifier: MIT */
/*
 * Runs: adjacent layers that only observe a function are called by one interceptor, observe_X of
 * the topmost of them, which creates one record for all. The callbacks come in the order in which
 * the layers would call them: `before` from the top down, `after` from the bottom up.
 *
 * The node of the topmost layer points to an observer whose callbacks call those of all layers, and
 * read the clock if a layer asks for the time of the call: below all `before`, above all `after`.
 * The callbacks leave the lowest layer's context in the record, from which observe_X goes on.
 *
 * Each layer still has a node. It is the context in the record that its callbacks receive, and its
 * next node is that of the next layer, so that what a callback calls through it is seen by the
 * layers below. A node of a run leads to what is left of the run from there. Nodes, and therefore
 * runs, never change: a layer that is switched makes other nodes (dispatch/chain.h).
 *
 * A run ends below a layer that also has an interceptor for the function: the callbacks surround
 * it. It ends above a layer that
 *   - acts (QMPIX_OBSERVE_ACTS): the layers above see what it does
 *   - gives the layers below a status that the program ignores (QMPIX_OBSERVE_STATUSES), if the
 *     layer above does not.
 */
#ifndef QMPI_OBSERVE_RUN_H
#define QMPI_OBSERVE_RUN_H

#include "observe/record.h"

#include <stddef.h>

/* A callback of a layer. The first two members are as in QMPIX_Call. */
struct qmpi_callback {
    QMPI_Context context;
    const QMPIX_Observer *observer;
    void (*function)(const QMPIX_Call *call, QMPIX_Word *word);
    size_t word; /* the place of the layer's word in the record, in bytes */
};

_Static_assert(offsetof(struct qmpi_callback, function) ==
                   offsetof(QMPIX_Call, arguments) - offsetof(QMPIX_Call, context),
               "a callback does not begin as QMPIX_Call goes on");

/* Callbacks in the order of the calls: the `count` before `end`. At least one, that of the lowest
 * layer, which may do nothing. */
struct qmpi_callbacks {
    const struct qmpi_callback *end;
    size_t count;
};

/* A run, or one layer that asks for the time. */
struct qmpi_run {
    QMPIX_Observer observer; /* first: a node points to it. It has the flags of all layers. */
    struct qmpi_callbacks before, after;
    int layers;
    struct qmpi_run_memory *memory;
};

/* Sets the callbacks of the run's observer, once all layers are in it. */
void qmpi_run_choose_callbacks(struct qmpi_run *run, int number);

#endif
