/* SPDX-License-Identifier: MIT */
/*
 * Handles that the calls of a thread that are in progress give back: MPI_Comm_free,
 * MPI_Comm_disconnect, MPI_File_close. Callbacks of attributes may free others from within: a few
 * at a time.
 */
#ifndef QMPI_TOOLKIT_LEAVINGS_H
#define QMPI_TOOLKIT_LEAVINGS_H

#include <qmpi/observer.h>

#include <stdint.h>

/* A call in progress that gives a handle back. */
struct leaving {
    const QMPIX_Word *word; /* of the call */
    uint64_t handle;
    int number; /* under which the tool knows the object, */
    int kind;   /* of this kind */
};

enum { LEAVINGS_MAX = 8 };
struct leavings {
    struct leaving all[LEAVINGS_MAX];
    int count;
};

/* Before such a call. Negative numbers, and what there is no room for, are left out. */
void leavings_add(struct leavings *leavings, const struct leaving *leaving);

/* What a call gives back; NULL: nothing that is known. */
struct leaving *leavings_find(struct leavings *leavings, const QMPIX_Word *word);

/* After the call: it is forgotten, with those of calls from within it. */
void leavings_end(struct leavings *leavings, const struct leaving *leaving);

#endif
