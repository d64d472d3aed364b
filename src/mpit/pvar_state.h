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
 */
#ifndef QMPI_MPIT_PVAR_STATE_H
#define QMPI_MPIT_PVAR_STATE_H

#include "tables.h"

struct qmpi_mpit_state {
    atomic_uint sequence; /* its last bit tells the set in use */
    atomic_bool started[2];
    atomic_bool ever; /* it was started before */
    int count;        /* of elements */
    /* Of watermarks: sampling goes through all states that there ever were, so they are kept, and
     * used again for the same object. */
    atomic_bool in_use;
    uint64_t object;
    struct qmpi_mpit_state *next;
    uint64_t words[];
};

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
    return atomic_load_explicit(&state->started[sequence & 1], memory_order_relaxed);
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

/* What is in `words` when a handle is allocated, or reset while it stands still. */
uint64_t qmpi_mpit_at_first(const struct qmpi_mpit_variable *variable, const void *array, int i);

#endif
