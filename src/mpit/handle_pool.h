/* SPDX-License-Identifier: MIT */
/*
 * The objects behind libqmpi's MPI_T handles and enumerations: slots in one address range, so that
 * two comparisons distinguish them from those of the MPI library, also in a signal handler. The
 * range is reserved at once and made accessible in pieces. A freed slot is reused as late as
 * possible, so that uses of freed handles are detected for a long time.
 */
#ifndef QMPI_MPIT_HANDLE_POOL_H
#define QMPI_MPIT_HANDLE_POOL_H

#include "mpit/types.h"

#include <stdatomic.h>

enum { QMPI_MPIT_SLOT_SIZE = 64 };

/* The contents of a slot. The MPI library also examines the first word of a handle. */
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

/* Whether a handle points into the range, whether or not it is live; it is not a handle of the MPI
 * library then. */
static inline bool qmpi_mpit_is_ours(const void *handle)
{
    return (uintptr_t)handle - atomic_load_explicit(&qmpi_mpit_arena.base, memory_order_relaxed) <
           atomic_load_explicit(&qmpi_mpit_arena.used, memory_order_relaxed);
}

/* Returns the slot of a handle in the range; NULL: not of this kind, or freed. */
static inline struct qmpi_mpit_slot *qmpi_mpit_slot_of(const void *handle, enum qmpi_mpit_kind kind)
{
    struct qmpi_mpit_slot *slot = (struct qmpi_mpit_slot *)(uintptr_t)handle;
    if ((uintptr_t)handle % QMPI_MPIT_SLOT_SIZE ||
        atomic_load_explicit(&slot->kind, memory_order_acquire) != (unsigned)kind)
        return NULL;
    return slot;
}

/* Returns a slot that is TAKEN and otherwise zero; NULL: out of memory. */
struct qmpi_mpit_slot *qmpi_mpit_slot_take(void);

/* Makes a filled slot a live handle of this kind. */
void qmpi_mpit_slot_publish(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind);

/* Claims a live slot for freeing; it is no longer a handle. Returns false if another thread freed
 * it. */
bool qmpi_mpit_slot_withdraw(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind);

/*
 * Ends one use of a slot, by the thread that withdrew it or has it in a list. Returns true if it
 * was the last use; the slot must be returned to the pool then.
 */
bool qmpi_mpit_slot_leave(struct qmpi_mpit_slot *slot);

/* Returns a withdrawn slot that is not in use, or a slot that was never published, to the pool. */
void qmpi_mpit_slot_give_back(struct qmpi_mpit_slot *slot);

/*
 * Returns the live pvar handles of a session in an array, which the caller frees; NULL and *count
 * -1 if memory is exhausted. Other threads may withdraw them meanwhile, but none is returned to the
 * pool before qmpi_mpit_slot_leave.
 */
struct qmpi_mpit_slot **qmpi_mpit_slots_of_session(MPI_T_pvar_session session, int *count);

#endif
