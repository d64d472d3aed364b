/* SPDX-License-Identifier: MIT */
/* The record of a call: the generated observe_X create it, and the helper functions read it.
 */
#ifndef QMPI_OBSERVE_RECORD_H
#define QMPI_OBSERVE_RECORD_H

#include "dispatch/dispatch.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

/* Returns the observer of the layer to which a node belongs. */
static inline const QMPIX_Observer *qmpi_observer_of(QMPI_Context context)
{
    return ((const struct qmpi_node *)context)->observer;
}

/* A message that MPI_Mprobe has matched: the data that the arguments of its receive do not contain.
 */
struct qmpi_matched {
    MPI_Comm comm; /* MPI_COMM_NULL: the message is not known, nor what follows */
    int source, tag;
    MPI_Message message; /* and these: */
    uint64_t serial;     /* of the note; 0: none */
};

/* The most layers in a run: longer rows of observers are several runs. */
enum { QMPI_RUN_MAX = 10 };

/* What observe_X keeps of a call. */
struct qmpi_observed {
    QMPIX_Call call;
    QMPIX_Word words[1];
};

/* What observe_run_X keeps: a word for each layer. */
struct qmpi_observed_run {
    QMPIX_Call call;
    QMPIX_Word words[QMPI_RUN_MAX];
};

/* The same for the receive of a matched message. */
struct qmpi_observed_message {
    QMPIX_Call call;
    struct qmpi_matched matched;
    QMPIX_Word words[1];
};
struct qmpi_observed_run_message {
    QMPIX_Call call;
    struct qmpi_matched matched;
    QMPIX_Word words[QMPI_RUN_MAX];
};

/* observe_X and observe_run_X of each function; NULL where this MPI lacks it. */
extern qmpi_function *const qmpi_observing[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;
extern qmpi_function *const qmpi_observing_runs[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The descriptions, once an observer is registered or a description was asked for. */
extern QMPIX_Function qmpi_described[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

#endif
