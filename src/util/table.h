/* SPDX-License-Identifier: MIT */
/*
 * Two hash tables that grow: one for a single thread, from which entries can be removed, and one
 * for handles that any thread may use without a lock, also in a signal handler. For tables that one
 * thread fills while others read them, see toolkit/table.h.
 */
#ifndef QMPI_UTIL_TABLE_H
#define QMPI_UTIL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Values by 64-bit keys, for one thread --------------------------------------------------- */

/*
 * Maps 64-bit keys to values of one size. A removed entry leaves nothing behind, so that the size
 * of the table depends only on the largest number of entries at one time. Memory comes from malloc.
 * Only one thread at a time may use a table, and no signal handler may do so.
 */
struct qmpi_table {
    size_t value_size, count, room; /* room: 0, or a power of two */
    unsigned char *used, *values;   /* by slot; used: 1 if the slot contains an entry */
    uint64_t *keys;
    bool failed; /* an entry could not be added, because memory was exhausted */
};

void qmpi_table_start(struct qmpi_table *table, size_t value_size);
void qmpi_table_free(struct qmpi_table *table);

/* Returns the value of a key, or NULL if it has none. The pointer is valid until the table
 * changes. */
void *qmpi_table_get(const struct qmpi_table *table, uint64_t key);

/* Returns the value of a key, after adding a value of zeros if the key has none. Returns NULL if
 * memory is exhausted. */
void *qmpi_table_put(struct qmpi_table *table, uint64_t key);

void qmpi_table_remove(struct qmpi_table *table, uint64_t key);

/* Calls `each` for all entries, in no particular order. */
void qmpi_table_each(const struct qmpi_table *table,
                     void (*each)(void *data, uint64_t key, void *value), void *data);

/* qmpi_table_mix distributes the bits of a number. qmpi_table_mix_two combines two numbers into
 * one. Their order matters. */
uint64_t qmpi_table_mix(uint64_t number);
uint64_t qmpi_table_mix_two(uint64_t one, uint64_t other);

/* ---- Entries by handle, for all threads ------------------------------------------------------ */

/*
 * Each level has buckets, and the handle decides in which one an entry is. The list of a bucket
 * only grows. When it has a few entries, further ones go to the next level, which has four times as
 * many buckets. An entry is therefore found in O(log n) steps among n, and never moves. Entries
 * that are no longer needed are used again and never freed.
 *
 * No function takes a lock, unless `take` does so, and a thread claims an entry with one atomic
 * exchange. Therefore, any thread may use a table. A signal handler may do so, too, if `take` may
 * be called there.
 */
enum { QMPI_TABLE_LEVELS = 12 };

struct qmpi_table_of_handles {
    size_t size;                /* of an entry in bytes */
    unsigned bits;              /* the first level has 2^bits buckets */
    void *(*take)(size_t size); /* returns memory that is zero, or NULL if it is exhausted */
    /* Arrays of buckets. A level is NULL until it is needed. It is stored by an exchange with
     * release after its buckets have been set to NULL, and a bucket by an exchange with release
     * when its new first entry is complete. Both are loaded with acquire. */
    struct qmpi_table_entry **levels[QMPI_TABLE_LEVELS];
};

/* The first member of an entry. */
struct qmpi_table_entry {
    /* A handle, QMPI_TABLE_UNUSED or QMPI_TABLE_CHANGING. It is stored with release after the data
     * of the entry. A thread that claims the entry exchanges it with acquire. */
    uint64_t handle;
    struct qmpi_table_entry *next; /* in the same bucket */
    int level;                     /* of this bucket */
};
enum { QMPI_TABLE_UNUSED = 0, QMPI_TABLE_CHANGING = 1 /* a thread has claimed the entry */ };

/* A function for `take`, if no signal handler uses the table. It calls calloc. */
void *qmpi_table_take_malloc(size_t size);

/* Makes the first level in advance; otherwise, the first entry makes it. Returns false if memory is
 * exhausted. */
bool qmpi_table_begin_handles(struct qmpi_table_of_handles *table);

/* Returns the bucket of a handle at a level, or NULL if the level does not exist. */
static inline struct qmpi_table_entry **
qmpi_table_find_bucket(const struct qmpi_table_of_handles *table, int level, uint64_t handle)
{
    struct qmpi_table_entry **buckets =
        level < QMPI_TABLE_LEVELS ? __atomic_load_n(&table->levels[level], __ATOMIC_ACQUIRE) : NULL;
    const unsigned bits = table->bits + 2 * (unsigned)level;
    return buckets ? &buckets[handle * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits)] : NULL;
}

/* Returns the next entry after `previous`, or the first one if `previous` is NULL, that has this
 * handle. Returns NULL if there is none. The entry may change before the caller has claimed it. */
static inline void *qmpi_table_find_entry(const struct qmpi_table_of_handles *table,
                                          uint64_t handle, const void *previous)
{
    const struct qmpi_table_entry *before = previous;
    struct qmpi_table_entry *entry = before ? before->next : NULL;
    int level = before ? before->level : -1;
    for (;;) {
        while (entry && __atomic_load_n(&entry->handle, __ATOMIC_ACQUIRE) != handle)
            entry = entry->next;
        struct qmpi_table_entry **bucket =
            entry ? NULL : qmpi_table_find_bucket(table, ++level, handle);
        if (!bucket)
            return entry;
        entry = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    }
}

/* Claims an entry that qmpi_table_find_entry has returned, so that no other thread finds it until
 * qmpi_table_publish_entry. Returns false if the entry no longer has this handle. */
bool qmpi_table_claim_entry(struct qmpi_table_entry *entry, uint64_t handle);

/* Returns an unused entry in a bucket for this handle, or NULL if memory is exhausted. No thread
 * finds the entry until qmpi_table_publish_entry. */
void *qmpi_table_take_entry(struct qmpi_table_of_handles *table, uint64_t handle);

/* Makes a claimed or new entry visible under a handle. */
static inline void qmpi_table_publish_entry(struct qmpi_table_entry *entry, uint64_t handle)
{
    __atomic_store_n(&entry->handle, handle, __ATOMIC_RELEASE);
}

/* Releases an entry, so that qmpi_table_take_entry may return it for another handle. */
static inline void qmpi_table_drop_entry(struct qmpi_table_entry *entry)
{
    qmpi_table_publish_entry(entry, QMPI_TABLE_UNUSED);
}

#endif
