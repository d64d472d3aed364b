/* SPDX-License-Identifier: MIT */
/*
 * The operations that MPI_Start starts: for each persistent or partitioned request, the arguments
 * of the call that created it. MPI_Start looks them up without a lock.
 */
#ifndef QMPI_OBSERVE_PERSISTENT_H
#define QMPI_OBSERVE_PERSISTENT_H

#include "observe/size.h"

/* Called after a call that creates such a request, even if it failed. */
void qmpi_persistent_note(const QMPIX_Call *call);

/* Called before MPI_Request_free, with any request, or NULL. */
void qmpi_persistent_forget(const MPI_Request *request);

/* The bytes and transfers that MPI_Start and MPI_Startall start. Unknown requests count nothing. */
int qmpi_persistent_amount(const QMPIX_Call *call, struct qmpi_amount *amount);
int qmpi_persistent_each(const QMPIX_Call *call,
                         void (*each)(void *data, const QMPIX_Transfer *transfer), void *data);

/* Returns the communicator of the first request. MPI_ERR_ARG: unknown. */
int qmpi_persistent_comm(const QMPIX_Call *call, MPI_Comm *comm);

#endif
