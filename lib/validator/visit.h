/* SPDX-License-Identifier: MIT */
/*
 * Visits: the calls of layers that are in progress. Each thread has a stack of them. A visit begins
 * when a layer receives a call, and ends when the layer returns. While the finalizer of a layer
 * runs, there is a visit of MPI_Finalize, too. The memory of visits is never
 * freed. A visit whose call was left by longjmp or an exception is recognized by its place on the
 * call stack. A pointer to a visit that has ended is recognized by the serial number of the visit.
 */
#ifndef VALIDATOR_VISIT_H
#define VALIDATOR_VISIT_H

#include "validator/compare.h"

#include <stdint.h>

struct visit {
    struct visit *outer; /* the visit in progress in the same thread when this one began */
    uint64_t serial;     /* 0: not in use */
    uintptr_t frame;     /* the address of the record of the call on the stack */
    const QMPIX_Function *function;
    QMPI_Context context;  /* NULL in a finalizer */
    const void *finalizer; /* the code of the finalizer; NULL: the layer has received a call */
    int tool_id;
    _Atomic int below;  /* calls of the layer that are in progress below it */
    _Atomic int passed; /* calls of the next function with the arguments received */
    int returned;       /* how many of these calls have returned */
    int others;         /* calls of the next function with other arguments */
    int changed;    /* the index of the first argument that differs in the last of these calls */
    bool by_pmpi;   /* PMPI_X of the same function was called */
    bool elsewhere; /* the next function was called in another thread */
    const QMPIX_Function *instead; /* the last other function that was called; NULL: none */
    uint64_t since;                /* when the code of the layer began to run, or continued */
    struct compare_values values;
};

/* Begins a visit in this thread. */
struct visit *visit_begin(int tool_id, const QMPIX_Call *call);

/* Returns the visit that visit_store has stored in two words, or NULL if it is no longer in
 * progress in this thread. Ends the visits inside it, because they have been left. */
struct visit *visit_of_word(const QMPIX_Word *word);

/* Returns what runs in the layer: the name of the function of MPI that it has received, or
 * `finalizer`. */
const char *visit_name(const struct visit *visit);

/* Ends a visit. */
void visit_end(struct visit *visit);

/* Ends the visits of this thread that were left, and returns the innermost of the others, or NULL
 * if there is none. `call` is the record of the current call, or another address on the stack in
 * the current code. */
struct visit *visit_innermost(const QMPIX_Call *call);

/* Stores the visit in the first two words of a record, for visit_of_word. */
void visit_store(const struct visit *visit, QMPIX_Word *word);

/* Returns the innermost visit of this thread, or NULL if there is none. */
const struct visit *visit_current(void);

/* Searches other threads for a visit of this layer that still has to make this call, and marks it.
 * Returns whether there is one. */
bool visit_find_elsewhere(int tool_id, const QMPIX_Call *call);

#endif
