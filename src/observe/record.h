/* SPDX-License-Identifier: MIT */
/* The record of a call: the generated observe_X create it, and the helper functions read it.
 */
#ifndef QMPI_OBSERVE_RECORD_H
#define QMPI_OBSERVE_RECORD_H

#include "dispatch/dispatch.h"

#include <qmpi/traits.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the observer of a node: that of its layer, or that of a run (observe.c). */
static inline const QMPIX_Observer *qmpi_record_observer(QMPI_Context context)
{
    return ((const struct qmpi_node *)context)->observer;
}

/* A message that MPI_Mprobe has matched: the data that the arguments of its receive do not contain.
 */
struct qmpi_record_matched {
    MPI_Comm comm; /* MPI_COMM_NULL: the message is unknown, or it is MPI_MESSAGE_NO_PROC; `source`
                      is then MPI_ANY_SOURCE or MPI_PROC_NULL, respectively */
    int source, tag;
    MPI_Message message; /* the handle */
    uint64_t serial;     /* number of its place in requests.c; 0: none */
};

struct qmpi_record_amount {
    MPI_Count sent, received;
};

/* These bits of `reserved` tell which results are valid. The results of `before` are computed again
 * in `after`, when statuses are known. */
enum {
    QMPI_KNOWS_MOVES = 1 << 0,     /* the call moves data, and MPI can be queried */
    QMPI_KNOWS_AMOUNT = 1 << 1,    /* `amount` */
    QMPI_KNOWS_TRANSFERS = 1 << 2, /* `transfers` */
    QMPI_KNOWS_IN_AFTER = 1 << 3   /* the other bits were set in `after` */
};

/* The maximum number of layers in a run; more adjacent observers form several runs. */
enum { QMPI_RUN_MAX = 10 };

/*
 * The record, with the data that callbacks do not see. The members up to the first word are
 * initialized for each call, the others only where they are used.
 */
struct qmpi_record {
    QMPIX_Call call; /* must be first, so that a pointer to it is a pointer to the record */
    QMPIX_Word words[QMPI_RUN_MAX];   /* one for each layer of a run, the lowest first */
    uint64_t entry;                   /* QMPIX_Call_get_entry_time */
    uint64_t begin, end;              /* QMPIX_Call_get_time */
    struct qmpi_record_amount amount; /* this and `transfers` are valid if their bits are set */
    QMPIX_Transfer transfers[2];
    int transfer_count;
    struct qmpi_record_matched matched; /* of functions with QMPI_SHAPE_MATCHED_RECEIVE */
};

/* See QMPIX_Call_get_begin_address. */
_Static_assert(offsetof(struct qmpi_record, end) ==
                   offsetof(struct qmpi_record, begin) + sizeof(uint64_t),
               "`end` does not follow `begin`");

/* Clears the members from `result` to the first word. */
static inline void qmpi_record_clear(struct qmpi_record *record)
{
    memset(&record->call.result, 0,
           offsetof(struct qmpi_record, words[1]) - offsetof(struct qmpi_record, call.result));
}

/* Returns the record that a callback received. */
static inline struct qmpi_record *qmpi_record_of(const QMPIX_Call *call)
{
    return (struct qmpi_record *)(uintptr_t)call;
}

/* The first members of the record as they are for the first layer; for enter_observe_X. */
struct qmpi_record_head {
    struct qmpi_node_trampoline head;
    const QMPIX_Function *function;
    QMPI_Context context;
    const QMPIX_Observer *observer;
};

/* Sets the first members of a record from `head`. */
static inline void qmpi_record_start(struct qmpi_record *record,
                                     const struct qmpi_record_head *head)
{
    _Static_assert(offsetof(struct qmpi_record_head, observer) -
                           offsetof(struct qmpi_record_head, function) ==
                       offsetof(QMPIX_Call, observer) - offsetof(QMPIX_Call, function),
                   "the members are not in the order of QMPIX_Call");
    memcpy(&record->call, &head->function,
           offsetof(QMPIX_Call, observer) - offsetof(QMPIX_Call, function));
    record->call.observer = head->observer;
}

/* ---- Handles as keys ------------------------------------------------------------------------- */

/* Returns the handle as a number. The handles of an MPI library are integers or pointers. */

static inline uintptr_t qmpi_record_key(const void *handle, size_t size)
{
    uintptr_t key = 0;
    memcpy(&key, handle, size);
    return key;
}

/* QMPI_KEY_OF: the key of the handle in a variable. QMPI_KEY_TO: stores the handle with this key in
 * a variable. */
#define QMPI_KEY_OF(handle) qmpi_record_key(&(handle), sizeof(handle))
#define QMPI_KEY_TO(handle, key) memcpy(&(handle), &(uintptr_t){key}, sizeof(handle))

/* Returns one of 2^bits places for a key. */
static inline size_t qmpi_record_place(uintptr_t key, unsigned bits)
{
    return (key ^ key >> bits ^ key >> 2 * bits) & (((size_t)1 << bits) - 1);
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* Returns which constants a parameter of a described function may be, if their values or addresses
 * may differ between MPI libraries, and otherwise QMPIX_CONSTANTS_NONE. */
QMPIX_Constants qmpi_record_parameter_constants(const QMPIX_Parameter *parameter);

/* observe_X and enter_observe_X of each function; NULL: this MPI lacks the function. */
extern qmpi_function *const qmpi_observing[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;
extern qmpi_function *const qmpi_observing_first[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* The descriptions. They are set when an observer is first registered or a description is first
 * requested. */
extern QMPIX_Function qmpi_described[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

#endif
