/* SPDX-License-Identifier: MIT */
/* The requests that Wait… and Test… were given, kept over the call, which replaces them; and room
 * for their statuses, which the program may not care for. */
#ifndef QMPI_OBSERVE_REQUESTS_H
#define QMPI_OBSERVE_REQUESTS_H

#include "observe/record.h"

struct qmpi_saved_requests {
    MPI_Request few[16];
    MPI_Request *many; /* NULL: they are in `few` */
};

/* Copies the handles and notes them in the call's record, if the layer's observer wants that. */
void qmpi_requests_save(struct qmpi_saved_requests *saved, QMPIX_Call *call, int count,
                        const MPI_Request *requests);

void qmpi_requests_drop(struct qmpi_saved_requests *saved);

struct qmpi_statuses {
    MPI_Status few[16];
    MPI_Status *many; /* NULL: they are in `few`, or the program has given its own */
};

/* The statuses that the layers below are to be given: the program's, or where it ignores them and
 * the layer's observer wants them, ours. */
MPI_Status *qmpi_statuses_give(struct qmpi_statuses *statuses, const QMPIX_Observer *observer,
                               int count, MPI_Status *given);

void qmpi_statuses_drop(struct qmpi_statuses *statuses);

#endif
