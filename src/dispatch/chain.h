/* SPDX-License-Identifier: MIT */
/*
 * Chains and slots: for each function the nodes of the layers that intercept it, ending in the
 * base; and the pointer that the function's entry jumps through. Built from the bottom up by
 * startup/startup.c; afterwards only startup/switch.c changes them, which puts other nodes in
 * force. Nodes themselves never change and are never freed: whoever is under way in a chain goes on
 * in it.
 */
#ifndef QMPI_DISPATCH_CHAIN_H
#define QMPI_DISPATCH_CHAIN_H

#include "dispatch/stubs.h"

/* Makes every chain the base alone. `layers` is the height of the stack to come. */
void qmpi_chain_start(int layers);

/* Lets layer `tool_id` find what is below it: all that has been added so far. */
void qmpi_chain_expose(int tool_id);

/* What a layer intercepts. Arrays by function number; NULL where it does not. They live on. */
struct qmpi_interceptors {
    qmpi_function *const *functions; /* a hosted layer's have MPI's own signatures */
    qmpi_function *const *mpich;     /* those of MPICH's dialect; NULL: none */
    qmpi_function *const *observing; /* its observer's, which stand above those; NULL: none */
    const void *observer;            /* the QMPIX_Observer that goes with them */
    bool pmpi_tool;
};

/* Puts a layer on top. */
void qmpi_chain_add(int tool_id, const struct qmpi_interceptors *layer);

/* Whether the layer was put there with an interceptor for the function. */
bool qmpi_chain_intercepts(int tool_id, int number);

/*
 * The layer's node on top of `next`, for a function that it intercepts: always the same one for the
 * same `next`, made the first time. The layers that have been on together bound what is ever made.
 * To be called in start-up or under startup/switch.c's lock.
 */
QMPI_Context qmpi_chain_insert(int tool_id, int number, QMPI_Context next);

/* The node on which layer `tool_id` stands now; NULL: this MPI lacks the function. */
QMPI_Context qmpi_chain_next(int tool_id, int number);

/* Lets all who ask from now on find `node` below the layer; with tool_id 0, from MPI_X itself. */
void qmpi_chain_set_next(int tool_id, int number, QMPI_Context node);

/* Where MPI_X leads in the chains as they are now. */
qmpi_function *qmpi_chain_way(int number);

/*
 * MPI_X with MPI's own signature as the chain from `node` on: the base's or a hosted tool's own
 * function. NULL: it begins with a native layer, which must be given its context.
 */
qmpi_function *qmpi_chain_plain(QMPI_Context node);

/* Whether the slots are open. */
bool qmpi_chain_is_open(void);

/* Opens the slots: from here on calls go straight. */
void qmpi_chain_publish(void);

/* Between the two no layer is switched: for what is to be bound as the chains are now. */
void qmpi_chain_hold(void);
void qmpi_chain_release(void);

#endif
