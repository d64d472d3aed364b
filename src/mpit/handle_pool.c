/* SPDX-License-Identifier: MIT */
/* See handle_pool.h. */
#define _GNU_SOURCE
#include "mpit/handle_pool.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RESERVED = 64 << 20, PIECE = 64 << 10 }; /* bytes */

struct qmpi_mpit_arena qmpi_mpit_arena;

_Static_assert(sizeof(struct qmpi_mpit_slot) == QMPI_MPIT_SLOT_SIZE, "a slot is a cache line");

QMPI_LOCK(lock);
static size_t usable; /* bytes of the range that have memory behind them */
static struct qmpi_mpit_slot *first_free, **last_free = &first_free;

static bool reserve(void)
{
    if (qmpi_mpit_arena.base)
        return true;
    void *range =
        mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        return false;
    qmpi_mpit_arena.base = (uintptr_t)range;
    return true;
}

static struct qmpi_mpit_slot *take_new(void)
{
    const size_t used = atomic_load(&qmpi_mpit_arena.used);
    if (!reserve())
        return NULL;
    if (used == usable) {
        if (usable == RESERVED ||
            mprotect((char *)qmpi_mpit_arena.base + usable, PIECE, PROT_READ | PROT_WRITE) != 0)
            return NULL;
        usable += PIECE;
    }
    struct qmpi_mpit_slot *slot = (struct qmpi_mpit_slot *)(qmpi_mpit_arena.base + used);
    atomic_store(&slot->kind, QMPI_MPIT_TAKEN);
    atomic_store(&qmpi_mpit_arena.used, used + sizeof *slot);
    return slot;
}

struct qmpi_mpit_slot *qmpi_mpit_slot_take(void)
{
    /* Some use one handle after the other: not always the same slot, or old handles look alive. */
    enum { REST = 64 };
    pthread_mutex_lock(&lock);
    struct qmpi_mpit_slot *slot = NULL;
    if (!first_free || atomic_load(&qmpi_mpit_arena.used) < REST * sizeof *slot)
        slot = take_new();
    if (!slot && first_free) {
        slot = first_free;
        first_free = slot->next;
        if (!first_free)
            last_free = &first_free;
        memset((char *)slot + sizeof slot->kind, 0, sizeof *slot - sizeof slot->kind);
        atomic_store(&slot->kind, QMPI_MPIT_TAKEN);
    }
    pthread_mutex_unlock(&lock);
    return slot;
}

void qmpi_mpit_slot_publish(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind)
{
    slot->uses = 1;
    atomic_store_explicit(&slot->kind, (unsigned)kind, memory_order_release);
}

/* Under the lock: a list that is being made holds it either live or not at all. */
bool qmpi_mpit_slot_withdraw(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind)
{
    unsigned expected = (unsigned)kind;
    pthread_mutex_lock(&lock);
    const bool was_live = atomic_compare_exchange_strong(&slot->kind, &expected, QMPI_MPIT_TAKEN);
    pthread_mutex_unlock(&lock);
    return was_live;
}

bool qmpi_mpit_slot_leave(struct qmpi_mpit_slot *slot)
{
    pthread_mutex_lock(&lock);
    const bool last = --slot->uses == 0;
    pthread_mutex_unlock(&lock);
    return last;
}

void qmpi_mpit_slot_give_back(struct qmpi_mpit_slot *slot)
{
    pthread_mutex_lock(&lock);
    atomic_store(&slot->kind, QMPI_MPIT_FREE);
    slot->next = NULL;
    *last_free = slot;
    last_free = &slot->next;
    pthread_mutex_unlock(&lock);
}

struct qmpi_mpit_slot **qmpi_mpit_slots_of_session(MPI_T_pvar_session session, int *count)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    const size_t all = atomic_load(&qmpi_mpit_arena.used) / QMPI_MPIT_SLOT_SIZE;
    struct qmpi_mpit_slot *slots = (struct qmpi_mpit_slot *)qmpi_mpit_arena.base;
    struct qmpi_mpit_slot **list = malloc((all + 1) * sizeof(struct qmpi_mpit_slot *));
    for (size_t i = 0; list && i < all; i++) {
        if (!qmpi_mpit_slot_of(&slots[i], QMPI_MPIT_PVAR) || slots[i].session != session)
            continue;
        slots[i].uses++;
        list[found++] = &slots[i];
    }
    pthread_mutex_unlock(&lock);
    *count = list ? found : -1;
    return list;
}
