/* SPDX-License-Identifier: MIT */
/* The record of a call, as the generated observe_X make it and all that is asked about it reads it.
 */
#ifndef QMPI_OBSERVE_RECORD_H
#define QMPI_OBSERVE_RECORD_H

#include "dispatch/stubs.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

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

/* observe_X of each function; NULL where this MPI lacks it. */
extern qmpi_function *const qmpi_observing[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The descriptions, once an observer is registered or a description was asked for. */
extern QMPIX_Function qmpi_described[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

#endif
