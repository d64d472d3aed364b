/* SPDX-License-Identifier: MIT */
/* See messages.h. */
#include "observe/messages.h"

#include "observe/semantics.h"

#include "observe/handle_key.h"

#include <stdatomic.h>
#include <stdint.h>

/*
 * One place for each hash, without a lock: a message takes the place of another one, which then is
 * not known any more. The serial number of a place grows with each note and tells in its last bits
 * what is in the place; whoever reads it before and after reads what belongs together, and whoever
 * forgets a note leaves a later one, of the same handle too.
 */
enum { PLACE_BITS = 12 };
enum { EMPTY, WRITING, FULL, NOTE = 4 };

static struct place {
    _Atomic uint64_t serial;
    atomic_uintptr_t message, comm;
    atomic_int source, tag;
} places[1 << PLACE_BITS];

static struct place *place_of(MPI_Message message)
{
    return &places[qmpi_handle_place(QMPI_KEY_OF(message), PLACE_BITS)];
}

/* False: another thread is writing there. */
static bool take(struct place *place, uint64_t *serial)
{
    uint64_t old = atomic_load(&place->serial);
    do {
        *serial = old - old % NOTE + NOTE;
        if (old % NOTE == WRITING)
            return false;
    } while (!atomic_compare_exchange_weak(&place->serial, &old, *serial + WRITING));
    return true;
}

/* Released one by one, so that who reads one of them sees that the place is being written. */
static void fill(struct place *place, const struct qmpi_matched *matched)
{
    atomic_store_explicit(&place->message, QMPI_KEY_OF(matched->message), memory_order_release);
    atomic_store_explicit(&place->comm, QMPI_KEY_OF(matched->comm), memory_order_release);
    atomic_store_explicit(&place->source, matched->source, memory_order_release);
    atomic_store_explicit(&place->tag, matched->tag, memory_order_release);
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
        .comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm),
        .source = QMPI_ARGUMENT(call, meaning->source, int),
        .tag = QMPI_ARGUMENT(call, meaning->receive_tag, int),
        .message = *QMPI_ARGUMENT(call, meaning->message, MPI_Message *),
    };
    if (matched.message == MPI_MESSAGE_NULL || matched.message == MPI_MESSAGE_NO_PROC)
        return;
    if (status != MPI_STATUS_IGNORE) {
        matched.source = status->MPI_SOURCE;
        matched.tag = status->MPI_TAG;
    }
    struct place *place = place_of(matched.message);
    if (!take(place, &matched.serial))
        return; /* one of the two is not known */
    fill(place, &matched);
    atomic_store(&place->serial, matched.serial + FULL);
}

struct qmpi_matched qmpi_messages_find(const MPI_Message *message)
{
    const struct qmpi_matched unknown = {
        .comm = MPI_COMM_NULL, .source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
    const struct qmpi_matched nobody = {
        .comm = MPI_COMM_NULL, .source = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    if (!message || *message == MPI_MESSAGE_NULL)
        return unknown;
    if (*message == MPI_MESSAGE_NO_PROC)
        return nobody;
    const struct place *place = place_of(*message);
    struct qmpi_matched found = {.message = *message, .serial = atomic_load(&place->serial)};
    const uintptr_t key = atomic_load_explicit(&place->message, memory_order_acquire);
    const uintptr_t comm = atomic_load_explicit(&place->comm, memory_order_acquire);
    found.source = atomic_load_explicit(&place->source, memory_order_acquire);
    found.tag = atomic_load_explicit(&place->tag, memory_order_acquire);
    QMPI_KEY_TO(found.comm, comm);
    const bool whole = atomic_load(&place->serial) == found.serial;
    return whole && found.serial % NOTE == FULL && key == QMPI_KEY_OF(*message) ? found : unknown;
}

void qmpi_messages_forget(const struct qmpi_matched *matched)
{
    uint64_t serial = matched->serial;
    if (serial)
        atomic_compare_exchange_strong(&place_of(matched->message)->serial, &serial,
                                       serial - FULL + EMPTY);
}
