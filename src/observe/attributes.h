/* SPDX-License-Identifier: MIT */
/*
 * What libqmpi stores with the program's communicators, windows and datatypes: attributes, whose
 * keys the program does not see. A copy of an object does not have them. MPI deletes them with the
 * object.
 */
#ifndef QMPI_OBSERVE_ATTRIBUTES_H
#define QMPI_OBSERVE_ATTRIBUTES_H

#include <mpi.h>
#include <stdbool.h>

/* An attribute of one kind of objects. A static variable: `drop` frees a value. */
struct qmpi_attribute {
    void (*drop)(void *value);
    int keyval;
};
#define QMPI_ATTRIBUTE(drop)                                                                       \
    {                                                                                              \
        drop, MPI_KEYVAL_INVALID                                                                   \
    }

/* Return what is stored with an object; NULL: nothing. Without a lock of libqmpi. */
void *qmpi_attribute_of_comm(struct qmpi_attribute *attribute, MPI_Comm comm);
void *qmpi_attribute_of_window(struct qmpi_attribute *attribute, MPI_Win window);
void *qmpi_attribute_of_type(struct qmpi_attribute *attribute, MPI_Datatype type);

/* Store a value with an object, which has none yet; only one thread at a time may do so. False: MPI
 * refuses it, and the value was dropped. */
bool qmpi_attribute_set_comm(struct qmpi_attribute *attribute, MPI_Comm comm, void *value);
bool qmpi_attribute_set_window(struct qmpi_attribute *attribute, MPI_Win window, void *value);
bool qmpi_attribute_set_type(struct qmpi_attribute *attribute, MPI_Datatype type, void *value);

#endif
