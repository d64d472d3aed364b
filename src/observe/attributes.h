/* SPDX-License-Identifier: MIT */
/*
 * Values that libqmpi stores with the program's communicators, windows and datatypes. By an
 * attribute whose key the program does not see, libqmpi learns when MPI deletes the object, and
 * drops the value. A copy of the object does not get the value.
 *
 * Searching for a value makes no MPI call, so the handle may be invalid. If a value is found, the
 * handle is valid.
 */
#ifndef QMPI_OBSERVE_ATTRIBUTES_H
#define QMPI_OBSERVE_ATTRIBUTES_H

#include "util/util.h"

#include <mpi.h>
#include <stdbool.h>

struct qmpi_attribute_entry {
    struct qmpi_table_entry entry; /* its key is the handle of the object */
    void *value;
    struct qmpi_attribute *attribute;
    struct qmpi_attribute_entry *next; /* in the list of kept entries of MPI_COMM_SELF */
};

/* An attribute of one kind of objects, in a static variable. `drop` frees a value. */
struct qmpi_attribute {
    void (*drop)(void *value);
    int keyval; /* MPI_KEYVAL_INVALID: not created yet */
    struct qmpi_table_of_handles table;
};
#define QMPI_ATTRIBUTE(drop)                                                                       \
    {                                                                                              \
        drop, MPI_KEYVAL_INVALID,                                                                  \
        {                                                                                          \
            sizeof(struct qmpi_attribute_entry), 8, qmpi_table_take_malloc,                        \
            {                                                                                      \
                NULL                                                                               \
            }                                                                                      \
        }                                                                                          \
    }

/* These functions return the value that is stored with an object; NULL: none. They take no lock of
 * libqmpi. */
void *qmpi_attribute_of_comm(struct qmpi_attribute *attribute, MPI_Comm comm);
void *qmpi_attribute_of_window(struct qmpi_attribute *attribute, MPI_Win window);
void *qmpi_attribute_of_type(struct qmpi_attribute *attribute, MPI_Datatype type);

/* These functions store a value with an object that exists and has none yet; only one thread at a
 * time may call them for an attribute. They return false if MPI refuses the attribute or memory is
 * exhausted; the value was then dropped. */
bool qmpi_attribute_set_comm(struct qmpi_attribute *attribute, MPI_Comm comm, void *value);
bool qmpi_attribute_set_window(struct qmpi_attribute *attribute, MPI_Win window, void *value);
bool qmpi_attribute_set_type(struct qmpi_attribute *attribute, MPI_Datatype type, void *value);

/* After the first of these functions and before the second, libqmpi sets no attribute for a value
 * that it stores with MPI_COMM_SELF. While MPI_Finalize deletes the attributes of MPI_COMM_SELF,
 * the program may make calls, and tools may ask about communicators, but setting another attribute
 * would crash MPICH. The second function drops the values while MPI calls are still possible. */
void qmpi_attributes_keep_self(void);
void qmpi_attributes_drop_self(void);

#endif
