/* SPDX-License-Identifier: MIT */
/* What a layer knows of the objects of the program, and of its call sites: objects.h and sites.h
 * have what is done with them. */
#ifndef QMPI_TOOL_TRACE_RECORD_TABLES_H
#define QMPI_TOOL_TRACE_RECORD_TABLES_H

#include "toolkit/toolkit.h"

#include <stdatomic.h>
#include <stdint.h>

enum object_kind { OBJECT_COMM, OBJECT_WINDOW, OBJECT_FILE, OBJECT_KINDS };

struct objects {
    struct handles handles[OBJECT_KINDS]; /* communicators: by the words of the program's handles */
    uint32_t counts[OBJECT_KINDS];
    uint32_t *window_comms, window_room; /* by index of the window: that of its communicator */
    MPI_Group world; /* of MPI_COMM_WORLD or mpi://WORLD; MPI_GROUP_NULL: not known */
};

enum { SITE_BUCKET_BITS = 12 };
struct site;
struct site_table {
    struct site *_Atomic *buckets; /* only added to */
    atomic_uint count;
};

#endif
