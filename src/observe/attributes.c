/* SPDX-License-Identifier: MIT */
/* See attributes.h. The functions for the three kinds of objects differ in types alone. */
#include "observe/attributes.h"

#include "dispatch/dispatch.h"
#include "util/util.h"

QMPI_LOCK(lock); /* of who creates a key */

#define FUNCTIONS(kind, type, Object, OBJECT)                                                      \
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
        ((struct qmpi_attribute *)state)->drop(value);                                             \
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
            (copy_none_##kind, delete_##kind, &keyval, attribute);                                 \
            __atomic_store_n(&attribute->keyval, keyval, __ATOMIC_RELEASE);                        \
        }                                                                                          \
        pthread_mutex_unlock(&lock);                                                               \
        return keyval;                                                                             \
    }                                                                                              \
                                                                                                   \
    void *qmpi_attribute_of_##kind(struct qmpi_attribute *attribute, type object)                  \
    {                                                                                              \
        const int keyval = __atomic_load_n(&attribute->keyval, __ATOMIC_ACQUIRE);                  \
        void *value = NULL;                                                                        \
        int flag = 0;                                                                              \
        if (keyval != MPI_KEYVAL_INVALID)                                                          \
            QMPI_PMPI(Object##_get_attr, OBJECT##_GET_ATTR)(object, keyval, &value, &flag);        \
        return flag ? value : NULL;                                                                \
    }                                                                                              \
                                                                                                   \
    bool qmpi_attribute_set_##kind(struct qmpi_attribute *attribute, type object, void *value)     \
    {                                                                                              \
        const int keyval = key_##kind(attribute);                                                  \
        const bool stored =                                                                        \
            keyval != MPI_KEYVAL_INVALID &&                                                        \
            QMPI_PMPI(Object##_set_attr, OBJECT##_SET_ATTR)(object, keyval, value) == MPI_SUCCESS; \
        if (!stored)                                                                               \
            attribute->drop(value);                                                                \
        return stored;                                                                             \
    }

FUNCTIONS(comm, MPI_Comm, Comm, COMM)
FUNCTIONS(window, MPI_Win, Win, WIN)
FUNCTIONS(type, MPI_Datatype, Type, TYPE)
