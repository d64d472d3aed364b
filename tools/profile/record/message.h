/* SPDX-License-Identifier: MIT */
/* The one message of a call of MPI_Send, MPI_Recv and their like, which is found in fewer steps
 * than what any call carries: see note.h. */
#ifndef QMPI_TOOL_PROFILE_RECORD_MESSAGE_H
#define QMPI_TOOL_PROFILE_RECORD_MESSAGE_H

#include "record/threads.h"
#include "toolkit/toolkit.h"

#include <qmpi/observer.h>

#include <stdbool.h>

/* The arguments of MPI_Send and its like, and of MPI_Recv. */
enum {
    MESSAGE_COUNT = 1,
    MESSAGE_TYPE = 2,
    MESSAGE_PEER = 3,
    MESSAGE_COMM = 5,
    MESSAGE_STATUS = 6
};

struct message {
    uint64_t bytes;
    struct matrix_row *cell; /* where messages to its peer count; NULL: a received one */
};

/* Finds how the calls of a function end. False: not like this. */
bool message_end(const QMPIX_Function *function, enum site_end *end);

/* Where messages to a rank count, which is another one than that of the last call of the site;
 * NULL: nowhere. */
struct matrix_row *message_find_cell(struct thread *thread, const QMPIX_Call *call,
                                     struct site *site, int peer);

/* The size of a datatype that is another one than that of the last call of the site. False: it is
 * none. */
bool message_find_size(struct site *site, const QMPIX_Call *call, uint64_t *size);

static inline bool message_find_sent(struct thread *thread, const QMPIX_Call *call,
                                     struct site *site, struct message *message)
{
    const int peer = argument_int(call, MESSAGE_PEER);
    uint64_t size = site->type_size;
    if (__builtin_expect(site->type != argument_word(call, MESSAGE_TYPE), 0) &&
        !message_find_size(site, call, &size))
        return false;
    message->bytes = (uint64_t) * (const int *)call->arguments[MESSAGE_COUNT] * size;
    message->cell =
        site->cell && site->peer == peer ? site->cell : message_find_cell(thread, call, site, peer);
    return message->cell != NULL;
}

/* The status is there: see QMPIX_OBSERVE_STATUSES. */
static inline bool message_find_received(const QMPIX_Call *call, struct message *message)
{
    MPI_Count bytes;
    message->cell = NULL;
    if (argument_int(call, MESSAGE_PEER) == MPI_PROC_NULL ||
        QMPIX_Call_get_status_bytes(call, MESSAGE_STATUS, 0, &bytes) != MPI_SUCCESS)
        return false;
    message->bytes = (uint64_t)bytes;
    return true;
}

/* Finds the message of a call, of a site whose communicator is known to be that of the call. False:
 * it has none, or is not as usual. */
static inline bool message_find(struct thread *thread, const QMPIX_Call *call, struct site *site,
                                struct message *message)
{
    if (!argument_result_is_success(call))
        return false;
    return site->end == SITE_SENDS ? message_find_sent(thread, call, site, message)
                                   : message_find_received(call, message);
}

/* Notes it. */
static inline void message_note(struct site *site, const struct message *message)
{
    const uint64_t bytes = message->bytes;
    struct matrix_row *cell = message->cell;
    if (cell) {
        note_add(&cell->messages, 1);
        note_add(&cell->bytes, bytes);
    }
    if (!bytes) {
        note_add(&site->more_messages, UINT64_MAX);
        return;
    }
    note_add(&site->function->sizes[note_bin(bytes, PROFILE_SIZE_BINS)], 1);
    note_add(cell ? &site->stats.sent : &site->stats.received, bytes);
    note_add(cell ? &site->row->stats.sent : &site->row->stats.received, bytes);
}

#endif
