/* SPDX-License-Identifier: MIT */
/*
 * What our MPI_T handles and enumerations point to: slots of one range of addresses, so that two
 * comparisons tell them from the MPI library's, in a signal handler too. The range is reserved at
 * once and made usable piece by piece. A freed slot is the last one to be used again, so that a
 * handle that is used after it was freed is noticed for a long time.
 */
#ifndef QMPI_MPIT_HANDLE_POOL_H
#define QMPI_MPIT_HANDLE_POOL_H

#include "mpit/types.h"

#include <stdatomic.h>

enum { QMPI_MPIT_SLOT_SIZE = 64 };

/* What a slot holds. The MPI library looks at the first word of what it is given, too. */
enum qmpi_mpit_kind {
    QMPI_MPIT_FREE = 0x71b10000,
    QMPI_MPIT_TAKEN, /* not yet filled in */
    QMPI_MPIT_ENUM,
    QMPI_MPIT_CVAR,
    QMPI_MPIT_PVAR
};

struct qmpi_mpit_variable;
struct qmpi_mpit_state;
struct qmpi_mpit_enum;

struct qmpi_mpit_slot {
    _Alignas(QMPI_MPIT_SLOT_SIZE) atomic_uint kind;
    int count;                  /* of elements */
    MPI_T_pvar_session session; /* the MPI library's, or the layer's word for it */
    const struct qmpi_mpit_variable *variable;
    union {
        struct qmpi_mpit_state *state; /* of a pvar's handle */
        const struct qmpi_mpit_enum *enumeration;
    };
    const void *object; /* NULL: no binding; else `handle` below */
    union {
        uint64_t word;
        void *pointer;
    } handle;
    union {
        struct qmpi_mpit_slot *next; /* among the free ones */
        int uses;                    /* of a live one: the handle, and lists that it is in */
    };
};

/* The range: from `base`, of which `used` bytes are slots. */
extern struct qmpi_mpit_arena {
    atomic_uintptr_t base;
    atomic_size_t used;
} qmpi_mpit_arena __attribute__((visibility("hidden")));

/* Whether a handle points into the range, live or not: then it is not the MPI library's. */
static inline bool qmpi_mpit_is_ours(const void *handle)
{
    return (uintptr_t)handle - atomic_load_explicit(&qmpi_mpit_arena.base, memory_order_relaxed) <
           atomic_load_explicit(&qmpi_mpit_arena.used, memory_order_relaxed);
}

/* The slot behind a handle of ours; NULL: it is not of this kind, or was freed. */
static inline struct qmpi_mpit_slot *qmpi_mpit_slot_of(const void *handle, enum qmpi_mpit_kind kind)
{
    struct qmpi_mpit_slot *slot = (struct qmpi_mpit_slot *)(uintptr_t)handle;
    if ((uintptr_t)handle % QMPI_MPIT_SLOT_SIZE ||
        atomic_load_explicit(&slot->kind, memory_order_acquire) != (unsigned)kind)
        return NULL;
    return slot;
}

/* A slot that is TAKEN and otherwise zero; NULL: there is no more memory for one. */
struct qmpi_mpit_slot *qmpi_mpit_slot_take(void);

/* Once it is filled in: from now on it is a handle of this kind. */
void qmpi_mpit_slot_publish(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind);

/* Claims a live slot for freeing: no handle any more. False: somebody else freed it. */
bool qmpi_mpit_slot_withdraw(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind);

/*
 * Ends one use of a slot: by whoever withdrew it, or had it in a list. True: it was the last one,
 * and the slot is to be given back.
 */
bool qmpi_mpit_slot_leave(struct qmpi_mpit_slot *slot);

/* Gives a withdrawn slot that nobody uses, or one that was never published, back. */
void qmpi_mpit_slot_give_back(struct qmpi_mpit_slot *slot);

/*
 * The live pvar handles of a session, as an array to be freed; NULL and *count -1 where memory is
 * out. They may be withdrawn by others meanwhile, but none is given back before it has been left.
 */
struct qmpi_mpit_slot **qmpi_mpit_slots_of_session(MPI_T_pvar_session session, int *count);

#endif
