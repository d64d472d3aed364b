/* SPDX-License-Identifier: MIT */
/* The requests passed to Wait… and Test…, saved because the call replaces them, and memory for
 * their statuses, which the program may ignore. */
#ifndef QMPI_OBSERVE_REQUESTS_H
#define QMPI_OBSERVE_REQUESTS_H

#include "observe/record.h"

struct qmpi_saved_requests {
    MPI_Request few[16];
    MPI_Request *many; /* NULL: they are in `few` */
};

/* Copies the handles to the record of the call, if the observer of the layer requested this. */
void qmpi_requests_save(struct qmpi_saved_requests *saved, QMPIX_Call *call, int count,
                        const MPI_Request *requests);

void qmpi_requests_drop(struct qmpi_saved_requests *saved);

struct qmpi_statuses {
    MPI_Status few[16];
    MPI_Status *many; /* NULL: they are in `few`, or the program has given its own */
};

/* Returns the statuses to pass to the layers below: those of the program or, if it ignores them and
 * the observer of the layer requested them, our own. */
MPI_Status *qmpi_statuses_give(struct qmpi_statuses *statuses, const QMPIX_Observer *observer,
                               int count, MPI_Status *given);

void qmpi_statuses_drop(struct qmpi_statuses *statuses);

#endif
