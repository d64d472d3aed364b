/* SPDX-License-Identifier: MIT */
/*
 * Observers: layers that see every call through one pair of callbacks. The generated observe_X, one
 * for each function, is such a layer's interceptor: it makes the record, calls `before`, the next
 * layer, and `after`. Here is what it reads: the observer of each layer.
 */
#ifndef QMPI_OBSERVE_H
#define QMPI_OBSERVE_H

#include "dispatch/chain.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

/* By tool_id; both callbacks are set wherever the layer has an observer. */
extern QMPIX_Observer qmpi_observers[QMPI_LAYERS_MAX + 1] QMPI_HIDDEN;

/* The observer of the layer that a node is of. */
static inline const QMPIX_Observer *qmpi_observer_of(QMPI_Context context)
{
    return ((const struct qmpi_node *)context)->observer;
}

/* A message that MPI_Mprobe has matched: what its receive does not say. */
struct qmpi_matched {
    MPI_Comm comm; /* MPI_COMM_NULL: the message is not known, nor what follows */
    int source, tag;
    MPI_Message message; /* and these: */
    uint64_t serial;     /* of the note; 0: there is none */
};

/* What observe_X keeps of a call. */
struct qmpi_observed {
    QMPIX_Call call;
    QMPIX_Word word;
};

/* And of the receive of a matched message. */
struct qmpi_observed_message {
    QMPIX_Call call;
    QMPIX_Word word;
    struct qmpi_matched matched;
};

/* The address of a variable in the frame, computed here: compilers compute it once, keep it in a
 * register over the calls in between, and pay for that with a push, a pop and two moves. */
#if defined(__x86_64__) && defined(__GNUC__)
#define QMPI_ADDRESS(type, variable)                                                               \
    __extension__({                                                                                \
        type *qmpi_address;                                                                        \
        __asm__("lea %1, %0" : "=r"(qmpi_address) : "m"(variable));                                \
        qmpi_address;                                                                              \
    })
#else
#define QMPI_ADDRESS(type, variable) (&(variable))
#endif

/* observe_X of each function; NULL where this MPI lacks it. */
extern qmpi_function *const qmpi_observing[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The descriptions, once an observer is registered or a description was asked for. */
extern QMPIX_Function qmpi_described[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Whether the layer's observer asked for this function: some are intercepted for our own needs. */
bool qmpi_observe_wanted(int tool_id, int number);

#endif
