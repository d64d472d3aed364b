/* SPDX-License-Identifier: MIT */
/*
 * Values that libqmpi stores with the program's communicators, windows and datatypes. They are
 * attributes whose keys the program does not see. A copy of an object does not have them. MPI
 * deletes them with the object.
 *
 * To look for a value makes no MPI call, so that the handle may be any value. If something is
 * found, the handle is that of an object that exists.
 */
#ifndef QMPI_OBSERVE_ATTRIBUTES_H
#define QMPI_OBSERVE_ATTRIBUTES_H

#include "util/util.h"

#include <mpi.h>
#include <stdbool.h>

struct qmpi_attribute_entry {
    struct qmpi_table_entry entry; /* by the handle of the object */
    void *value;
    struct qmpi_attribute *attribute;
    struct qmpi_attribute_entry *next; /* of those of MPI_COMM_SELF that are kept */
};

/* An attribute of one kind of objects. A static variable: `drop` frees a value. */
struct qmpi_attribute {
    void (*drop)(void *value);
    int keyval;
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

/* Return what is stored with an object; NULL: nothing. Without a lock of libqmpi. */
void *qmpi_attribute_of_comm(struct qmpi_attribute *attribute, MPI_Comm comm);
void *qmpi_attribute_of_window(struct qmpi_attribute *attribute, MPI_Win window);
void *qmpi_attribute_of_type(struct qmpi_attribute *attribute, MPI_Datatype type);

/* Store a value with an object, which exists and has none yet; only one thread at a time may do so.
 * False: MPI refuses it, and the value was dropped. */
bool qmpi_attribute_set_comm(struct qmpi_attribute *attribute, MPI_Comm comm, void *value);
bool qmpi_attribute_set_window(struct qmpi_attribute *attribute, MPI_Win window, void *value);
bool qmpi_attribute_set_type(struct qmpi_attribute *attribute, MPI_Datatype type, void *value);

/* Between these functions, what libqmpi stores with MPI_COMM_SELF is not an attribute that MPI
 * deletes. While MPI_Finalize deletes these attributes, the program may make calls, and tools may
 * ask about communicators, but no further attribute can be set: MPICH crashes. The second function
 * drops what is stored, while MPI still works. */
void qmpi_attributes_keep_self(void);
void qmpi_attributes_drop_self(void);

#endif
