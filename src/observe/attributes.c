/* SPDX-License-Identifier: MIT */
/*
 * See attributes.h. The values are in tables of libqmpi, by handle. MPI is never asked for the
 * value of an attribute, because it would invoke an error handler of the program if the handle is
 * wrong. The attribute, whose value is the entry of the table, only serves to tell libqmpi when the
 * object is deleted.
 */
#include "observe/attributes.h"

#include "dispatch/dispatch.h"
#include "observe/record.h"
#include "util/util.h"

QMPI_LOCK(lock); /* held while a key is created */

/* Returns the value for a handle. No lock is needed, because a correct program does not use an
 * object while another thread frees it. */
static void *value_of(struct qmpi_attribute *attribute, uintptr_t handle)
{
    const struct qmpi_attribute_entry *entry =
        handle > QMPI_TABLE_CHANGING ? qmpi_table_find_entry(&attribute->table, handle, NULL)
                                     : NULL;
    return entry ? __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE) : NULL;
}

/* Returns a new entry for a handle that has none yet; NULL: memory is exhausted. */
static struct qmpi_attribute_entry *take_entry(struct qmpi_attribute *attribute, uintptr_t handle,
                                               void *value)
{
    struct qmpi_attribute_entry *entry = qmpi_table_take_entry(&attribute->table, handle);
    if (!entry)
        return NULL;
    entry->attribute = attribute;
    __atomic_store_n(&entry->value, value, __ATOMIC_RELEASE);
    return entry;
}

/* Called when MPI deletes the attribute or has refused it, and by qmpi_attributes_drop_self. MPI
 * may hold locks of its own, so no lock is taken here. */
static void drop_entry(struct qmpi_attribute_entry *entry)
{
    struct qmpi_attribute *attribute = entry->attribute;
    void *value = entry->value;
    qmpi_table_drop_entry(&entry->entry);
    attribute->drop(value);
}

/* ---- MPI_COMM_SELF --------------------------------------------------------------------------- */

/* Set by qmpi_attributes_keep_self, and cleared by qmpi_attributes_drop_self. */
static bool keeps_self;
/* A list of the entries of MPI_COMM_SELF. An entry is added with release order, and the list is
 * taken with acquire order. */
static struct qmpi_attribute_entry *kept;

void qmpi_attributes_keep_self(void)
{
    __atomic_store_n(&keeps_self, true, __ATOMIC_RELEASE);
}

void qmpi_attributes_drop_self(void)
{
    __atomic_store_n(&keeps_self, false, __ATOMIC_RELEASE);
    struct qmpi_attribute_entry *entry = __atomic_exchange_n(&kept, NULL, __ATOMIC_ACQ_REL), *next;
    for (; entry; entry = next) {
        next = entry->next;
        drop_entry(entry);
    }
}

static bool is_kept_self(MPI_Comm comm)
{
    return comm == MPI_COMM_SELF && __atomic_load_n(&keeps_self, __ATOMIC_ACQUIRE);
}

static void keep_entry(struct qmpi_attribute_entry *entry)
{
    entry->next = __atomic_load_n(&kept, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&kept, &entry->next, entry, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
        continue;
}

/* ---- Each kind of object --------------------------------------------------------------------- */

#define FUNCTIONS(kind, type, Object, OBJECT, IS_KEPT)                                             \
    static int copy_none_##kind(type object, int keyval, void *state, void *value, void *copy,     \
                                int *flag)                                                         \
    {                                                                                              \
        (void)object;                                                                              \
        (void)keyval;                                                                              \
        (void)state;                                                                               \
        (void)value;                                                                               \
        (void)copy;                                                                                \
        *flag = 0;                                                                                 \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
                                                                                                   \
    static int delete_##kind(type object, int keyval, void *value, void *state)                    \
    {                                                                                              \
        (void)object;                                                                              \
        (void)keyval;                                                                              \
        (void)state;                                                                               \
        drop_entry(value);                                                                         \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
                                                                                                   \
    static int key_##kind(struct qmpi_attribute *attribute)                                        \
    {                                                                                              \
        int keyval = __atomic_load_n(&attribute->keyval, __ATOMIC_ACQUIRE);                        \
        if (keyval != MPI_KEYVAL_INVALID)                                                          \
            return keyval;                                                                         \
        pthread_mutex_lock(&lock);                                                                 \
        keyval = attribute->keyval;                                                                \
        if (keyval == MPI_KEYVAL_INVALID) {                                                        \
            QMPI_PMPI(Object##_create_keyval, OBJECT##_CREATE_KEYVAL)                              \
            (copy_none_##kind, delete_##kind, &keyval, NULL);                                      \
            __atomic_store_n(&attribute->keyval, keyval, __ATOMIC_RELEASE);                        \
        }                                                                                          \
        pthread_mutex_unlock(&lock);                                                               \
        return keyval;                                                                             \
    }                                                                                              \
                                                                                                   \
    void *qmpi_attribute_of_##kind(struct qmpi_attribute *attribute, type object)                  \
    {                                                                                              \
        return value_of(attribute, QMPI_KEY_OF(object));                                           \
    }                                                                                              \
                                                                                                   \
    bool qmpi_attribute_set_##kind(struct qmpi_attribute *attribute, type object, void *value)     \
    {                                                                                              \
        const int keyval = key_##kind(attribute);                                                  \
        const uintptr_t handle = QMPI_KEY_OF(object);                                              \
        struct qmpi_attribute_entry *entry =                                                       \
            keyval == MPI_KEYVAL_INVALID ? NULL : take_entry(attribute, handle, value);            \
        if (!entry) {                                                                              \
            attribute->drop(value);                                                                \
            return false;                                                                          \
        }                                                                                          \
        if (IS_KEPT) {                                                                             \
            keep_entry(entry);                                                                     \
        } else if (QMPI_PMPI(Object##_set_attr, OBJECT##_SET_ATTR)(object, keyval, entry) !=       \
                   MPI_SUCCESS) {                                                                  \
            drop_entry(entry);                                                                     \
            return false;                                                                          \
        }                                                                                          \
        qmpi_table_publish_entry(&entry->entry, handle);                                           \
        return true;                                                                               \
    }

FUNCTIONS(comm, MPI_Comm, Comm, COMM, is_kept_self(object))
FUNCTIONS(window, MPI_Win, Win, WIN, false)
FUNCTIONS(type, MPI_Datatype, Type, TYPE, false)
