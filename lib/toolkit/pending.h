/* SPDX-License-Identifier: MIT */
/*
 * This table contains the program's pending requests. A tool finds its entry for a request by the
 * handle of the request.
 *
 * As soon as MPI has completed a request, it may give the same handle to another one, and another
 * thread may see this before the call that completed the request returns. Therefore, a tool lets a
 * call that may complete requests hold their entries from `before` to `after`. pending_find does
 * not return an entry that is held.
 *
 * After pending_make, any thread may use the table, also in a signal handler, because the functions
 * take no lock and do not call malloc (util/table.h).
 */
#ifndef QMPI_TOOLKIT_PENDING_H
#define QMPI_TOOLKIT_PENDING_H

#include "util/util.h"

#include <qmpi/traits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This is an entry. It must be the first member of the tool's own structure. */
struct pending {
    struct qmpi_table_entry entry;
    /* This is true while a call that may complete the request holds the entry. The call sets it by
     * an exchange with acquire and release, and then checks that the entry still has the handle. */
    bool held;
    int place;                 /* This is the index of the request among those of that call. */
    struct pending *next_held; /* This is the next entry that the same call holds, or NULL. */
};

struct pending_table {
    struct qmpi_table_of_handles table;
};

/* Makes an empty table. `size` is the size of the tool's structure in bytes. Returns false if
 * memory is exhausted. */
bool pending_make(struct pending_table *table, size_t size);

/* Returns whether a call holds the entry. */
static inline bool pending_is_held(const struct pending *pending)
{
    return __atomic_load_n(&pending->held, __ATOMIC_ACQUIRE);
}

/* Returns the next entry after `previous`, or the first one if `previous` is NULL, that has this
 * handle and that no call holds. Returns NULL if there is none. The entry may change before the
 * caller has claimed it. */
struct pending *pending_find(const struct pending_table *table, uint64_t handle,
                             const struct pending *previous);

/* Claims an entry that pending_find has returned, so that no other thread finds it until
 * pending_publish. Returns false if the entry no longer has this handle. */
static inline bool pending_claim(struct pending *pending, uint64_t handle)
{
    return qmpi_table_claim_entry(&pending->entry, handle);
}

/* Returns an unused entry in a bucket for this handle, or NULL if memory is exhausted. No thread
 * finds the entry until pending_publish. */
static inline struct pending *pending_take(struct pending_table *table, uint64_t handle)
{
    return qmpi_table_take_entry(&table->table, handle);
}

/* Makes a claimed or new entry visible under a handle. No call holds it. */
static inline void pending_publish(struct pending *pending, uint64_t handle)
{
    __atomic_store_n(&pending->held, false, __ATOMIC_RELAXED);
    qmpi_table_publish_entry(&pending->entry, handle);
}

/* Releases an entry, so that pending_take may return it for another request. */
static inline void pending_drop(struct pending *pending)
{
    qmpi_table_drop_entry(&pending->entry);
}

/* Lets a call hold an entry that pending_find has returned for `handle`. `place` is the index of
 * the request among those of the call. `held` is stored in `next_held`: it is the first of the
 * entries that the call holds already, or NULL. Returns false if another call holds the entry by
 * now, or if the entry no longer has this handle. Several requests may have the same handle: Open
 * MPI gives one handle to all requests that are complete when they are created. */
static inline bool pending_hold(struct pending *pending, uint64_t handle, int place,
                                struct pending *held)
{
    if (__atomic_exchange_n(&pending->held, true, __ATOMIC_ACQ_REL))
        return false;
    if (__atomic_load_n(&pending->entry.handle, __ATOMIC_ACQUIRE) != handle) {
        __atomic_store_n(&pending->held, false, __ATOMIC_RELEASE);
        return false;
    }
    pending->place = place;
    pending->next_held = held;
    return true;
}

/* Ends the hold of a call on an entry, so that pending_find returns the entry again. */
static inline void pending_release(struct pending *pending)
{
    __atomic_store_n(&pending->held, false, __ATOMIC_RELEASE);
}

/* ---- Completed requests ---------------------------------------------------------------------- */

/* These are the numbers of the arguments of a function that completes requests. A number is -1 if
 * the function has no such argument. */
struct pending_completion {
    signed char count, requests, flag, index, outcount, indices, status, statuses;
};

/* Returns the description of a function. It is meaningful only if the function has
 * QMPIX_ROLE_COMPLETE. */
struct pending_completion pending_describe_completion(const QMPIX_Traits *traits);

/* Returns whether the statuses of a call that failed show which requests it has completed. */
bool pending_in_status(const QMPIX_Call *call, const struct pending_completion *completion);

/* Is called for a request that a call has completed. If the program asked for statuses, the status
 * of the request is element `element` of argument number `argument`. If the operation has failed,
 * `argument` is -1. */
typedef void pending_ended(void *data, struct pending *pending, int argument, int element);

/*
 * Calls `each` with `data` for each of the entries in the list `held` whose request the call has
 * completed. `held` contains the entries that the call holds, in ascending order of `place`. This
 * function must be called in `after`.
 */
void pending_each_completed(const QMPIX_Call *call, const struct pending_completion *completion,
                            struct pending *held, pending_ended *each, void *data);

#endif
