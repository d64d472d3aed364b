/* SPDX-License-Identifier: MIT */
/*
 * The objects behind libqmpi's MPI_T handles and enumerations: slots in one address range, so that
 * their addresses distinguish them from those of the MPI library, also in a signal handler. The
 * range is reserved as a whole and made accessible in pieces. A freed slot goes to the end of a
 * list, and is reused only after the slots that were freed before it, so that most uses of freed
 * handles are detected.
 */
#ifndef QMPI_MPIT_HANDLES_H
#define QMPI_MPIT_HANDLES_H

#include "mpit/index.h"
#include "mpit/types.h"

#include <stdatomic.h>

/* ---- Slots ----------------------------------------------------------------------------------- */

enum { QMPI_MPIT_SLOT_SIZE = 64 };

/* The contents of a slot. The values are unusual, because the MPI library also examines the first
 * word of a handle that it is given, and must not take a slot for one of its own objects. */
enum qmpi_mpit_kind {
    QMPI_MPIT_FREE = 0x71b10000,
    QMPI_MPIT_TAKEN, /* no handle: not yet filled in, or being freed */
    QMPI_MPIT_ENUM,
    QMPI_MPIT_CVAR,
    QMPI_MPIT_PVAR
};

struct qmpi_mpit_state;
struct qmpi_mpit_enum;

struct qmpi_mpit_slot {
    /* Stored with release order after the other members, loaded with acquire order before them. */
    _Alignas(QMPI_MPIT_SLOT_SIZE) atomic_uint kind;
    int count;                  /* number of elements */
    MPI_T_pvar_session session; /* performance variables: a session of the MPI library */
    const struct qmpi_mpit_variable *variable;
    union {
        struct qmpi_mpit_state *state; /* handles of performance variables */
        const struct qmpi_mpit_enum *enumeration;
    };
    const void *object; /* NULL: no binding; otherwise, address of `handle` */
    union {
        uint64_t word;
        void *pointer;
    } handle; /* a copy of the handle of the MPI object */
    union {
        struct qmpi_mpit_slot *next; /* in the list of free slots */
        int uses; /* published slots: 1 for the handle until it is freed, and 1 for each list that
                     contains the slot */
    };
};

/* The range begins at `base`, and `used` bytes of it are slots. Both are stored under the lock of
 * the pool. Any thread loads them with relaxed order: it has received a slot that it asks about
 * from the thread that created the handle, so it also sees the range. */
extern struct qmpi_mpit_arena {
    atomic_uintptr_t base;
    atomic_size_t used;
} qmpi_mpit_arena __attribute__((visibility("hidden")));

/* Whether a handle points into the range, live or not. If so, it is not a handle of the MPI
 * library. */
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

/* Returns a slot that is TAKEN and otherwise zero; NULL: memory or the range is exhausted. */
struct qmpi_mpit_slot *qmpi_mpit_slot_take(void);

/* Makes a filled slot a live handle of this kind. */
void qmpi_mpit_slot_publish(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind);

/* Claims a live slot for freeing; it is no longer a handle. Returns false if another thread freed
 * it. */
bool qmpi_mpit_slot_withdraw(struct qmpi_mpit_slot *slot, enum qmpi_mpit_kind kind);

/*
 * Ends one use of a slot, by the thread that withdrew it or has it in a list. Returns true if it
 * was the last use; the caller must then return the slot to the pool.
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

/*
 * Allocates a slot for a handle of a variable: binds it to the object whose handle is at
 * `object_handle`, unless the variable has no binding, and determines the number of elements, by
 * the callback `open` if there is one. Returns MPI_SUCCESS, with a slot that is TAKEN in *slot, or
 * an MPI_T error code.
 */
int qmpi_mpit_open(const struct qmpi_mpit_variable *variable, const void *object_handle,
                   struct qmpi_mpit_slot **slot);

/* ---- States of performance variables --------------------------------------------------------- */

/*
 * The state of a handle of a published performance variable has one word for each element:
 *
 *             started                                     stopped
 *   SUM       the publisher's value less the handle's     the handle's value
 *   HIGH LOW  the mark so far                             the mark
 *   PRESENT   unused                                      the handle's value
 *
 * There are two sets of words. Starting and stopping fill in the one that is not in use and then
 * increment `sequence`. A reader that finds `sequence` unchanged has therefore read a consistent
 * set, and a signal handler that interrupts the starting or stopping reads the old set without
 * waiting.
 *
 * MPI_T_PVAR_ALL_HANDLES and the sampling of watermarks access handles that their owner may free at
 * the same time. Such an access begins a visit to the state, and then checks whether the state is
 * still live. Freeing a handle that is bound to an object waits for the end of all visits by other
 * threads, because the object may be freed next. The last user returns the slot to the pool.
 */

/* A state is spare, or owned by the thread that creates or frees its handle, or it is the state of
 * a live handle. States of watermarks are never freed, because sampling visits all of them, but are
 * reused. */
enum qmpi_mpit_life { QMPI_MPIT_SPARE, QMPI_MPIT_OWNED, QMPI_MPIT_LIVE };

struct qmpi_mpit_state {
    /* The last bit selects the set in use. The sequence is changed after a set was filled in, and
     * loaded before and after the set is read. Starting and stopping store all parts of a set with
     * release order, and readers load them with acquire order. */
    atomic_uint sequence;
    atomic_bool started[2];
    atomic_bool ever; /* the handle was started before, or is continuous; only starting and stopping
                         read this */
    /* A visitor increments `inside` and then reads `life`; the thread that frees the handle changes
     * `life` and then reads `inside`. Sequentially consistent order ensures that at least one sees
     * the other. */
    atomic_int life; /* enum qmpi_mpit_life */
    atomic_int inside;
    int count;                    /* number of elements, and of words in a set */
    uint64_t object;              /* the handle of the object, if the variable is bound to one */
    struct qmpi_mpit_state *next; /* watermarks: in the list `marks` of the variable */
    uint64_t words[];
};

/* A visit to a state, in the visitor's frame. */
struct qmpi_mpit_visit {
    struct qmpi_mpit_state *state;
    const struct qmpi_mpit_visit *outer; /* the outer visit of this thread */
};

/* Begins a visit. Returns whether the state is live; the visit must be ended in any case. May be
 * called in signal handlers. */
bool qmpi_mpit_visit_begin(struct qmpi_mpit_visit *visit, struct qmpi_mpit_state *state);
void qmpi_mpit_visit_end(const struct qmpi_mpit_visit *visit);

static inline uint64_t *qmpi_mpit_words(struct qmpi_mpit_state *state, unsigned sequence)
{
    return state->words + (sequence & 1) * (size_t)state->count;
}

static inline unsigned qmpi_mpit_sequence(const struct qmpi_mpit_state *state)
{
    return atomic_load_explicit(&state->sequence, memory_order_acquire);
}

static inline bool qmpi_mpit_started(const struct qmpi_mpit_state *state, unsigned sequence)
{
    return atomic_load_explicit(&state->started[sequence & 1], memory_order_acquire);
}

/* The current elements of a variable: the publisher's memory or, if the variable has callbacks, a
 * copy. */
struct qmpi_mpit_raw {
    const void *array;
    uint64_t few[32];
    void *many; /* to be freed; NULL: `few` was enough */
};

/* Returns MPI_SUCCESS, MPI_T_ERR_MEMORY, or an error of the publisher's callback; after an error,
 * `raw` must not be ended. */
int qmpi_mpit_raw_begin(const struct qmpi_mpit_variable *variable, const void *object, int count,
                        struct qmpi_mpit_raw *raw);
void qmpi_mpit_raw_end(struct qmpi_mpit_raw *raw);

/* Raises one mark to `level` if `level` is higher; for a low watermark, lowers it if `level` is
 * lower. */
void qmpi_mpit_raise(const struct qmpi_mpit_variable *variable, uint64_t *mark, uint64_t level);

/* ---- Handles --------------------------------------------------------------------------------- */

/* The functions below that return an int return an error code of MPI_T. If not stated otherwise,
 * the slot is a live handle. */

/* Adds a state to an opened slot, and publishes the slot as a handle of the session. After an
 * error, the slot is unchanged, and the caller returns it to the pool. */
int qmpi_mpit_pvar_open(struct qmpi_mpit_slot *slot, MPI_T_pvar_session session);

/* Frees a live handle; MPI_T_ERR_INVALID_HANDLE: another thread has freed it. If the handle is
 * bound to an object, waits for the visits of other threads to its state. */
int qmpi_mpit_pvar_close(struct qmpi_mpit_slot *slot);

/* Ends one use of a slot. The last use frees the state, and returns the slot to the pool. Must be
 * called once for each slot in a list that qmpi_mpit_slots_of_session has returned. */
void qmpi_mpit_pvar_leave(struct qmpi_mpit_slot *slot);

/* These are MPI_T_pvar_read, write, reset, readreset, start and stop for one handle. */
int qmpi_mpit_pvar_get(const struct qmpi_mpit_slot *slot, void *buffer);
int qmpi_mpit_pvar_set(const struct qmpi_mpit_slot *slot, const void *buffer);
int qmpi_mpit_pvar_zero(const struct qmpi_mpit_slot *slot);
int qmpi_mpit_pvar_get_zero(const struct qmpi_mpit_slot *slot, void *buffer);
int qmpi_mpit_pvar_begin(const struct qmpi_mpit_slot *slot);
int qmpi_mpit_pvar_end(const struct qmpi_mpit_slot *slot);
bool qmpi_mpit_pvar_is_started(const struct qmpi_mpit_slot *slot);

#endif
