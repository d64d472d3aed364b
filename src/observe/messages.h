/* SPDX-License-Identifier: MIT */
/*
 * Matched messages: the arguments of MPI_Mrecv contain neither communicator nor source, which are
 * known from the MPI_Mprobe that matched the message.
 */
#ifndef QMPI_OBSERVE_MESSAGES_H
#define QMPI_OBSERVE_MESSAGES_H

#include "observe/record.h"

/* After MPI_Mprobe or MPI_Improbe. */
void qmpi_messages_note(const QMPIX_Call *call);

/* Returns the record of a message; an empty record for NULL and for an unknown message. */
struct qmpi_matched qmpi_messages_find(const MPI_Message *message);

/* Removes the record after the receive: MPI reuses the handle for another message, which may come
 * from a probe that was not seen, or which another thread has recorded meanwhile. */
void qmpi_messages_forget(const struct qmpi_matched *matched);

#endif
