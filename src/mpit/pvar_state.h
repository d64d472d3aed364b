/* SPDX-License-Identifier: MIT */
/*
 * What a handle of a performance variable keeps. One word for each element:
 *
 *             started                                stopped
 *   SUM       what the publisher had at the start    the value
 *   HIGH LOW  the mark so far                        the mark
 *   PRESENT   nothing                                the value when it stopped
 *
 * There are two sets of words. Starting and stopping fill in the one that is not in use and then
 * count `sequence` on, so a reader that finds `sequence` as it was before has read one set that
 * belonged together; and a signal handler that interrupts them reads the old set and waits for
 * nobody.
 *
 * Two ways lead to a handle without its owner's knowledge: MPI_T_PVAR_ALL_HANDLES, and sampling of
 * watermarks. Whoever comes that way goes into the state first, and then asks whether it is still
 * live. Freeing a handle of an object waits until the others are out, for the object may be gone
 * thereafter; what they stand on is given back by the last one.
 */
#ifndef QMPI_MPIT_PVAR_STATE_H
#define QMPI_MPIT_PVAR_STATE_H

#include "mpit/index.h"

/* Whose a state is. Those of watermarks are kept, as sampling goes through all that there ever
 * were, and are used again. */
enum qmpi_mpit_life { QMPI_MPIT_SPARE, QMPI_MPIT_OWNED, QMPI_MPIT_LIVE };

struct qmpi_mpit_state {
    atomic_uint sequence; /* its last bit tells the set in use */
    atomic_bool started[2];
    atomic_bool ever;  /* it was started before */
    atomic_int life;   /* enum qmpi_mpit_life */
    atomic_int inside; /* how many have gone in */
    int count;         /* of elements */
    uint64_t object;   /* of watermarks: what they are bound to */
    struct qmpi_mpit_state *next;
    uint64_t words[];
};

/* A visit to a state, in the visitor's frame. */
struct qmpi_mpit_visit {
    struct qmpi_mpit_state *state;
    const struct qmpi_mpit_visit *outer; /* this thread's before it */
};

/* Goes in; whether the state is live. To be ended in any case. Signal handlers may. */
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

/* The publisher's present elements: in memory of its own, or in ours where it has callbacks. */
struct qmpi_mpit_raw {
    const void *array;
    uint64_t few[32];
    void *many; /* to be freed; NULL: `few` was enough */
};

/* MPI_SUCCESS, or what the publisher's callback says; then there is nothing to end. */
int qmpi_mpit_raw_begin(const struct qmpi_mpit_variable *variable, const void *object, int count,
                        struct qmpi_mpit_raw *raw);
void qmpi_mpit_raw_end(struct qmpi_mpit_raw *raw);

/* Raises (lowers) one mark to `level`. */
void qmpi_mpit_raise(const struct qmpi_mpit_variable *variable, uint64_t *mark, uint64_t level);

#endif
