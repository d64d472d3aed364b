/* SPDX-License-Identifier: MIT */
/*
 * What MPI_Start starts: for each live request of a persistent or partitioned operation, what was
 * said when it was made. Starting looks it up without a lock.
 */
#ifndef QMPI_OBSERVE_PERSISTENT_H
#define QMPI_OBSERVE_PERSISTENT_H

#include "observe/size.h"

/* After a call that made such a request (or failed to). */
void qmpi_persistent_note(const QMPIX_Call *call);

/* Before MPI_Request_free; any kind of request, or NULL. */
void qmpi_persistent_forget(const MPI_Request *request);

/* Of MPI_Start and MPI_Startall: what they start. Requests that are not known count nothing. */
int qmpi_persistent_amount(const QMPIX_Call *call, struct qmpi_amount *amount);
int qmpi_persistent_each(const QMPIX_Call *call,
                         void (*each)(void *data, const QMPIX_Transfer *transfer), void *data);

/* The communicator of the first request. MPI_ERR_ARG: it is not known. */
int qmpi_persistent_comm(const QMPIX_Call *call, MPI_Comm *comm);

#endif
