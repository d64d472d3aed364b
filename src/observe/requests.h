/* SPDX-License-Identifier: MIT */
/* The requests that Wait… and Test… were given, kept over the call, which replaces them. */
#ifndef QMPI_REQUESTS_H
#define QMPI_REQUESTS_H

#include "observe.h"

struct qmpi_kept {
    MPI_Request few[16];
    MPI_Request *many; /* NULL: they are in `few` */
};

/* Copies the handles and notes them in the call's record, if the layer's observer wants that. */
void qmpi_requests_keep(struct qmpi_kept *kept, QMPIX_Call *call, int count,
                        const MPI_Request *requests);

void qmpi_requests_drop(struct qmpi_kept *kept);

#endif
