/* SPDX-License-Identifier: MIT */
/*
 * Runs: adjacent layers that only observe a function are called by one interceptor, observe_run_X
 * of the topmost of them, which creates one record for all. The callbacks come in the order in
 * which the layers would call them: `before` from the top down, `after` from the bottom up.
 *
 * Each layer still has a node. It is the context in the record that its callbacks receive, and its
 * next node is that of the next layer, so that what a callback calls through it is seen by the
 * layers below. A node of a run leads to what is left of the run from there, with an observe_run_X
 * or observe_X too. Nodes, and therefore runs, never change: a layer that is switched makes other
 * nodes (dispatch/chain.h).
 *
 * A run ends below a layer that also has an interceptor for the function: the callbacks surround
 * it. It ends above a layer that
 *   - acts (QMPIX_OBSERVE_ACTS): the layers above see what it does
 *   - gives the layers below a status that the program ignores (QMPIX_OBSERVE_STATUSES), if the
 *     layer above does not.
 */
#ifndef QMPI_OBSERVE_RUN_H
#define QMPI_OBSERVE_RUN_H

#include "observe/arch/address.h"
#include "observe/record.h"

#include <stddef.h>
#include <string.h>

/* A callback of a layer. The first two members are as in QMPIX_Call. */
struct qmpi_callback {
    QMPI_Context context;
    const QMPIX_Observer *observer;
    void (*function)(const QMPIX_Call *call, QMPIX_Word *word);
    size_t word; /* the place of the layer's word, in bytes */
};

_Static_assert(offsetof(struct qmpi_callback, function) ==
                   offsetof(QMPIX_Call, arguments) - offsetof(QMPIX_Call, context),
               "a callback does not begin as QMPIX_Call goes on");

/* Callbacks in the order of the calls: from `end` + `size` (in bytes, negative) to `end`. At least
 * one, which may do nothing. */
struct qmpi_callbacks {
    const struct qmpi_callback *end;
    ptrdiff_t size;
};

struct qmpi_run {
    QMPIX_Observer observer; /* first: a node points to it. It has the flags of all layers. */
    struct qmpi_callbacks before, after;
    QMPI_Context next; /* the node below the lowest layer */
    int layers;
    struct qmpi_run_memory *memory;
};

static inline const struct qmpi_run *qmpi_run_of(const QMPIX_Observer *observer)
{
    return (const struct qmpi_run *)observer;
}

/* Two words at a time: for memset, compilers use an instruction that takes longer than all
 * callbacks. */
typedef long long qmpi_two_words __attribute__((vector_size(16), aligned(8), may_alias));

static inline __attribute__((always_inline)) void qmpi_run_clear(QMPIX_Word *words)
{
    for (int i = 0; i < QMPI_RUN_MAX; i += 2)
        *(qmpi_two_words *)(words + i) = (qmpi_two_words){0, 0};
}

/* Writes the context and the observer of a callback into the record. */
static inline __attribute__((always_inline)) const struct qmpi_callback *
qmpi_run_set(QMPIX_Call *call, const struct qmpi_callback *end, ptrdiff_t at)
{
    const struct qmpi_callback *callback = (const struct qmpi_callback *)((const char *)end + at);
    memcpy(&call->context, callback, offsetof(struct qmpi_callback, function));
    return callback;
}

/* Calls the callbacks. The addresses are computed for each: to keep them in registers over the
 * calls would cost more (arch/address.h). */
static inline __attribute__((always_inline)) void
qmpi_run_plain(const struct qmpi_callbacks *callbacks, QMPIX_Call *call, QMPIX_Word *words)
{
    const struct qmpi_callback *const end = callbacks->end;
    ptrdiff_t at = callbacks->size;
    do {
        const struct qmpi_callback *callback = qmpi_run_set(call, end, at);
        char *word = (char *)QMPI_ADDRESS(QMPIX_Word, *words) + callback->word;
        callback->function(QMPI_ADDRESS(QMPIX_Call, *call), (QMPIX_Word *)word);
        at += (ptrdiff_t)sizeof *callback;
    } while (at);
}

/* The same in functions that complete requests, which only some layers have asked for. */
void qmpi_run_completing(const struct qmpi_callbacks *callbacks, QMPIX_Call *call,
                         QMPIX_Word *words);

#endif
