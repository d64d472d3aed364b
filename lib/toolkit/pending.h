/* SPDX-License-Identifier: MIT */
/*
 * What a tool knows of the requests of the program that are pending, by their handles. A handle is
 * another request's as soon as MPI has completed the one that it was, before the tool sees the call
 * return: so a call that may complete requests holds their entries from before it on.
 *
 * No lock and no malloc: an entry is claimed by one exchange, and used again.
 */
#ifndef QMPI_TOOLKIT_PENDING_H
#define QMPI_TOOLKIT_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of the tool's own structure. */
struct pending {
    uint64_t handle;           /* of the request */
    bool held;                 /* by a call that may complete it: the handle may be another one's */
    int place;                 /* among the requests of that call, */
    struct pending *next_held; /* which holds this one, too */
    struct pending *next;      /* in the bucket */
};

struct pending_table {
    struct pending **buckets; /* by handle; lists that only grow */
    size_t size;              /* bytes of an entry */
};

/* Makes an empty table of entries of `size` bytes. False: memory is exhausted. */
bool pending_make(struct pending_table *table, size_t size);

/* Whether a call holds the entry. */
static inline bool pending_is_held(const struct pending *pending)
{
    return __atomic_load_n(&pending->held, __ATOMIC_ACQUIRE);
}

/* An entry with this handle that no call holds, after `previous` (NULL: the first one); NULL: there
 * is none. */
struct pending *pending_find(const struct pending_table *table, uint64_t handle,
                             const struct pending *previous);

/* Takes the entry of a handle over: nobody else finds it until pending_publish. False: it is
 * another one's by now. */
bool pending_claim(struct pending *pending, uint64_t handle);

/* An unused entry for a handle, which nobody finds until pending_publish; NULL: memory is
 * exhausted. */
struct pending *pending_take(const struct pending_table *table, uint64_t handle);

void pending_publish(struct pending *pending, uint64_t handle);

/* The entry is unused from now on. */
void pending_drop(struct pending *pending);

/* A call that may complete the request at `place` holds the entry, and those in the list `held`. */
static inline void pending_hold(struct pending *pending, int place, struct pending *held)
{
    __atomic_store_n(&pending->held, true, __ATOMIC_RELEASE);
    pending->place = place;
    pending->next_held = held;
}

static inline void pending_release(struct pending *pending)
{
    __atomic_store_n(&pending->held, false, __ATOMIC_RELEASE);
}

#endif
