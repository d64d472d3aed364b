/* SPDX-License-Identifier: MIT */
/*
 * Chains and the dispatch table. A chain consists of the nodes of the layers that intercept a
 * function, and the terminator; the dispatch table contains the pointer through which the entry
 * point of the function jumps. startup/startup.c builds the chains from the bottom up; later, only
 * startup/switch.c changes them, by using other nodes. What calls read in a node never changes, and
 * nodes are never freed, so a call in progress continues in its chain.
 */
#ifndef QMPI_DISPATCH_CHAIN_H
#define QMPI_DISPATCH_CHAIN_H

#include "dispatch/node.h"

/* Initializes all chains, which then contain only the terminator. `layers` is the number of layers
 * that will be added. */
void qmpi_chain_start(int layers);

/* Makes the layers that have been added so far visible to layer `tool_id`, as those below it. */
void qmpi_chain_expose(int tool_id);

/* The interceptors of a layer: arrays indexed by function number; NULL: not intercepted. They must
 * exist for the whole run. Elements of `functions` of a QMPI layer may be set later, under the lock
 * of qmpi_chain_hold. */
struct qmpi_chain_layer {
    qmpi_function *const *functions; /* those of a PMPI layer have the signatures of MPI */
    qmpi_function *const *mpich;     /* those for MPICH's variant; NULL: none */
    qmpi_function *const *observing; /* those of its observer, above the others; NULL: none */
    void (*observe)(struct qmpi_node *node); /* completes a new node for `observing` */
    bool pmpi_tool;
    bool (*starts)(int tool_id, int number); /* whether the layer is on at first for a function that
                                                it intercepts; NULL: it is on for all of
                                                them */
};

/* The kinds of nodes that check a layer. */
enum qmpi_chain_check {
    QMPI_CHECK_ABOVE, /* above the nodes of the layer: what it receives and returns */
    QMPI_CHECK_BELOW, /* below them: what it calls */
    QMPI_CHECK_OWN,   /* a node of the layer itself: a layer must not pass on its own context */
    QMPI_CHECK_COUNT
};

/*
 * Nodes that check layers (validate/validate.c). Their functions are those of observers, and
 * `observers` contains an observer for each layer and kind. These observers have
 * QMPIX_OBSERVE_ACTS, so that no layer shares a record with them. There is a node below a layer for
 * each function that it may call, and a node above it for each function that it intercepts. The
 * functions in `below`, which layers call, check the context first.
 */
struct qmpi_chain_checks {
    qmpi_function *const *functions;                  /* [number] */
    qmpi_function *const *below;                      /* [number]; of nodes below layers */
    const void *const (*observers)[QMPI_CHECK_COUNT]; /* [tool_id] */
};

/* Makes all layers that are added from now on checked. Called after qmpi_chain_start. */
void qmpi_chain_check(const struct qmpi_chain_checks *checks);

/* If layers are checked, returns the observer of a node that belongs to a layer or checks one.
 * NULL: the node has no observer, or `context`, which may have any value, is not such a node. */
const void *qmpi_chain_observer(QMPI_Context context);

/* Adds a layer on top. */
void qmpi_chain_add(int tool_id, const struct qmpi_chain_layer *layer);

/* Whether the layer has an interceptor for the function, even one that is switched off. */
bool qmpi_chain_intercepts(int tool_id, int number);

/*
 * Returns the topmost node of layer `tool_id` above the chain `next`, for a function that the layer
 * intercepts. The nodes of the layer (one, or two if it also observes the function, and those that
 * check it) are created once for each `next`, and again only if the layer has registered another
 * function. Thus the number of nodes is limited by the sets of layers that have been on together.
 * Called during start-up or under the lock of qmpi_chain_hold.
 */
QMPI_Context qmpi_chain_insert(int tool_id, int number, QMPI_Context next);

/* Returns the current next node below layer `tool_id`; NULL: this MPI lacks the function. */
QMPI_Context qmpi_chain_next(int tool_id, int number);

/* Returns the rest of the chain below the layer, without a node that checks the layer. */
QMPI_Context qmpi_chain_rest(int tool_id, int number);

/* Returns the next node below layer `tool_id` if `rest` is the rest of the chain: `rest` itself, or
 * a node above it that checks the layer. Called like qmpi_chain_insert. */
QMPI_Context qmpi_chain_join(int tool_id, int number, QMPI_Context rest);

/*
 * To change the chain of a function, call, in this order: qmpi_chain_set_topmost with the new first
 * node; qmpi_barrier_publish; qmpi_chain_set_next for each layer; qmpi_barrier_publish; and
 * qmpi_chain_set_target. Other threads may call the function at any time.
 */

/* Sets the topmost QMPI node of the function to that of the chain that begins with `head`. */
void qmpi_chain_set_topmost(int number, QMPI_Context head);

/* Sets the next node below the layer; tool_id 0 sets the first node of the chain. The entry point
 * of the function still leads to its old target afterwards. */
void qmpi_chain_set_next(int tool_id, int number, QMPI_Context node);

/* Makes the entry point of the function lead to the first node of the chain. */
void qmpi_chain_set_target(int number);

/* Returns the target of MPI_X in the current chains. */
qmpi_function *qmpi_chain_target(int number);

/*
 * Returns the function of the MPI library or of a PMPI tool that `node` calls, which has the
 * signature of MPI_X. NULL: the node belongs to a QMPI layer, whose function needs a context.
 */
qmpi_function *qmpi_chain_plain(QMPI_Context node);

/* Whether the dispatch table is active. */
bool qmpi_chain_is_active(void);

/* Activates the dispatch table: from now on, calls jump directly to their targets. Start-up only,
 * once. */
void qmpi_chain_activate(void);

/* Between these two calls, no other thread switches a layer or replaces an interceptor. A thread
 * calls them to do so itself, or to set relocations according to the current chains. */
void qmpi_chain_hold(void);
void qmpi_chain_release(void);

#endif
