/* SPDX-License-Identifier: MIT */
/* See messages.h. */
#include "messages.h"

#include "meaning.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/*
 * One place for each hash, without a lock: a message takes the place of another one, which then is
 * not known any more.
 */
enum { PLACES = 4096 };
static struct {
    _Atomic uintptr_t key; /* 0: empty, or being written */
    struct qmpi_matched matched;
} places[PLACES];

static uintptr_t key_of(MPI_Message message)
{
    uintptr_t key = 0;
    memcpy(&key, &message, sizeof message);
    return key;
}

static size_t place_of(uintptr_t key)
{
    return (key ^ key >> 12 ^ key >> 24) % PLACES;
}

static bool has_matched(const QMPIX_Call *call)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    return qmpi_meaning_succeeded(call) &&
           (!meaning->flag || *QMPI_ARGUMENT(call, meaning->flag, int *));
}

void qmpi_messages_note(const QMPIX_Call *call)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    if (!has_matched(call))
        return;
    const MPI_Status *status = QMPI_ARGUMENT(call, meaning->status, MPI_Status *);
    struct qmpi_matched matched = {
        QMPI_ARGUMENT(call, meaning->comm, MPI_Comm), QMPI_ARGUMENT(call, meaning->source, int),
        QMPI_ARGUMENT(call, meaning->receive_tag, int), MPI_MESSAGE_NULL};
    if (status != MPI_STATUS_IGNORE) {
        matched.source = status->MPI_SOURCE;
        matched.tag = status->MPI_TAG;
    }
    const MPI_Message message = *QMPI_ARGUMENT(call, meaning->message, MPI_Message *);
    if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC)
        return;
    matched.message = message;
    const uintptr_t key = key_of(message);
    atomic_store(&places[place_of(key)].key, 0);
    places[place_of(key)].matched = matched;
    atomic_store(&places[place_of(key)].key, key);
}

struct qmpi_matched qmpi_messages_find(const MPI_Message *message)
{
    const struct qmpi_matched unknown = {MPI_COMM_NULL, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                         MPI_MESSAGE_NULL};
    const struct qmpi_matched nobody = {MPI_COMM_NULL, MPI_PROC_NULL, MPI_ANY_TAG,
                                        MPI_MESSAGE_NULL};
    if (!message || *message == MPI_MESSAGE_NULL)
        return unknown;
    if (*message == MPI_MESSAGE_NO_PROC)
        return nobody;
    const uintptr_t key = key_of(*message);
    const size_t place = place_of(key);
    if (atomic_load(&places[place].key) != key)
        return unknown;
    const struct qmpi_matched found = places[place].matched;
    return atomic_load(&places[place].key) == key ? found : unknown;
}

void qmpi_messages_forget(const struct qmpi_matched *matched)
{
    if (matched->message == MPI_MESSAGE_NULL)
        return;
    uintptr_t key = key_of(matched->message);
    atomic_compare_exchange_strong(&places[place_of(key)].key, &key, 0);
}
