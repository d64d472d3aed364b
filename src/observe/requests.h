/* SPDX-License-Identifier: MIT */
/* Requests and messages of calls: the requests that a call starts or completes, the operations that
 * MPI_Start starts, and the messages that MPI_Mrecv receives. */
#ifndef QMPI_OBSERVE_REQUESTS_H
#define QMPI_OBSERVE_REQUESTS_H

#include "observe/amount.h"
#include "observe/record.h"

/* ---- Requests of a call ---------------------------------------------------------------------- */

/* The requests passed to Wait… and Test…, saved because the call replaces them. */

struct qmpi_requests_before {
    MPI_Request few[16];
    MPI_Request *many; /* NULL: they are in `few` */
};

/* Copies the handles for the record of the call, if the observer of the layer requested this. If
 * memory is exhausted, the record has none. */
void qmpi_requests_save(struct qmpi_requests_before *saved, QMPIX_Call *call, int count,
                        const MPI_Request *requests);

void qmpi_requests_drop(struct qmpi_requests_before *saved);

/* Memory for the statuses of these requests, which the program may ignore. */
struct qmpi_requests_statuses {
    MPI_Status few[16];
    MPI_Status *many; /* NULL: they are in `few`, or the program has given its own */
};

/* Returns the statuses to pass to the layers below: those of the program or, if it ignores them and
 * the observer of the layer requested them, those in `statuses`. If memory is exhausted, those of
 * the program. */
MPI_Status *qmpi_requests_give_statuses(struct qmpi_requests_statuses *statuses,
                                        const QMPIX_Observer *observer, int count,
                                        MPI_Status *given);

void qmpi_requests_drop_statuses(struct qmpi_requests_statuses *statuses);

/* ---- Persistent operations ------------------------------------------------------------------- */

/*
 * The operations that MPI_Start starts: for each persistent or partitioned request, the arguments
 * of the call that created it. They are found without a lock.
 */

/* Called after a call that creates such a request, even if it failed. */
void qmpi_requests_add_persistent(const QMPIX_Call *call);

/* Called before MPI_Request_free, with any request, or NULL. */
void qmpi_requests_forget_persistent(const MPI_Request *request);

/* The first of these functions adds to `amount` the bytes of the operations that MPI_Start and
 * MPI_Startall start; the others visit the transfers and the neighbors of these operations. Unknown
 * requests add nothing. */
int qmpi_requests_persistent_amount(const QMPIX_Call *call, struct qmpi_record_amount *amount);
int qmpi_requests_each_persistent(const QMPIX_Call *call,
                                  void (*each)(void *data, const QMPIX_Transfer *transfer),
                                  void *data);

int qmpi_requests_each_persistent_neighbor(const QMPIX_Call *call,
                                           void (*each)(void *data, const QMPIX_Transfer *transfer),
                                           void *data);

/* Returns the communicator of the first request. MPI_ERR_ARG: unknown. */
int qmpi_requests_persistent_comm(const QMPIX_Call *call, MPI_Comm *comm);

/* ---- Matched messages ------------------------------------------------------------------------ */

/*
 * Matched messages: the arguments of MPI_Mrecv contain no communicator, source or tag. These are
 * known from the MPI_Mprobe that matched the message.
 */

/* Called after MPI_Mprobe or MPI_Improbe. */
void qmpi_requests_add_message(const QMPIX_Call *call);

/* Returns the record of a message. Its communicator is MPI_COMM_NULL if `message` is NULL, or leads
 * to an unknown message or to MPI_MESSAGE_NO_PROC. */
struct qmpi_record_matched qmpi_requests_find_message(const MPI_Message *message);

/* Removes the record after the receive, because MPI reuses the handle for another message, whose
 * probe may not be observed. If another thread has already recorded another message with this
 * handle, that record stays. */
void qmpi_requests_forget_message(const struct qmpi_record_matched *matched);

#endif
