/* SPDX-License-Identifier: MIT */
/*
 * Matched messages: MPI_Mrecv is given a message and names neither communicator nor source; the
 * MPI_Mprobe that matched it did.
 */
#ifndef QMPI_OBSERVE_MESSAGES_H
#define QMPI_OBSERVE_MESSAGES_H

#include "observe/record.h"

/* After MPI_Mprobe or MPI_Improbe. */
void qmpi_messages_note(const QMPIX_Call *call);

/* What was noted of a message; of NULL and of one that was not seen: nothing. */
struct qmpi_matched qmpi_messages_find(const MPI_Message *message);

/* After its receive: MPI gives its handle to another message, which may come from a probe unseen,
 * or has been noted by another thread by now. */
void qmpi_messages_forget(const struct qmpi_matched *matched);

#endif
