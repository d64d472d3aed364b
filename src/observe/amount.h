/* SPDX-License-Identifier: MIT */
/* The bytes that a call sends and receives, and its transfers: see <qmpi/observer.h>. Functions
 * that return an int return an error class. */
#ifndef QMPI_OBSERVE_AMOUNT_H
#define QMPI_OBSERVE_AMOUNT_H

#include "observe/semantics.h"

/*
 * Sets the bytes of one side (send or receive) of a point-to-point, one-sided or file operation. A
 * persistent operation counts as if it were started now.
 */
int qmpi_amount_sent(const QMPIX_Call *call, MPI_Count *bytes);
int qmpi_amount_received(const QMPIX_Call *call, MPI_Count *bytes);

/* Sets the bytes of the parts `first` … `first + count - 1` of one side; a part is a number of
 * elements of a type. A single count or type applies to each part. */
int qmpi_amount_send_parts(const QMPIX_Call *call, int first, int count, MPI_Count *bytes);
int qmpi_amount_receive_parts(const QMPIX_Call *call, int first, int count, MPI_Count *bytes);

/* Sets the bytes of both sides of a collective. */
int qmpi_amount_collective(const QMPIX_Call *call, struct qmpi_record_amount *amount);

/* Sets the bytes of both sides of any call except MPI_Start and MPI_Startall. A persistent
 * operation counts as if it were started now.
 */
int qmpi_amount_of(const QMPIX_Call *call, struct qmpi_record_amount *amount);

/* Sets whether the call moves data; a call that failed, or that creates a persistent operation,
 * does not. Returns MPI_ERR_OTHER if the call moves data, but MPI cannot be queried now. */
int qmpi_amount_check(const QMPIX_Call *call, bool *moves);

/* Returns the status of a call that has ended; NULL: the call has not ended, has no single status,
 * or ignores it. */
const MPI_Status *qmpi_amount_status(const QMPIX_Call *call);

/* Returns the message that a matched receive takes; NULL: the call is no matched receive. */
static inline const struct qmpi_record_matched *qmpi_amount_matched(const QMPIX_Call *call)
{
    if (qmpi_semantics_of(call)->shape != QMPI_SHAPE_MATCHED_RECEIVE)
        return NULL;
    return &qmpi_record_of(call)->matched;
}

/* Stores the messages of a call (at most 2: one that is sent, and one that is received), as
 * qmpi_amount_of counts them. */
int qmpi_amount_transfers(const QMPIX_Call *call, QMPIX_Transfer transfers[2], int *count);

/* Calls a function for each neighbor with the data that a neighborhood collective exchanges: see
 * QMPIX_Call_for_each_neighbor. A persistent operation counts as if it were started now. */
int qmpi_amount_each_neighbor(const QMPIX_Call *call,
                              void (*each)(void *data, const QMPIX_Transfer *transfer), void *data);

#endif
