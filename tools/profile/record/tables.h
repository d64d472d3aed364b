/* SPDX-License-Identifier: MIT */
/*
 * What a layer knows of the communicators, files, regions and receives of its process. comms.h,
 * files.h, regions.h and receives.h have what is done with them.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_TABLES_H
#define QMPI_TOOL_PROFILE_RECORD_TABLES_H

#include "record/numbering.h"
#include "record/threads.h"
#include "toolkit/toolkit.h"

#include <qmpi/qmpi.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm {
    MPI_Comm handle;
    bool live;
    int size, first; /* see profile_communicator */
    uint64_t members;
    char name[MPI_MAX_OBJECT_NAME];
};

/* Freed communicators of one name and the same processes. */
struct freed_comm {
    uint64_t key[3]; /* hash of the name, size, members */
    struct comm comm;
    uint64_t instances;
    struct stats stats;
};

struct comms {
    struct handles handles;
    struct numbering numbers; /* of struct comm; those of freed ones are unused */
    struct table freed;
    MPI_Group world; /* of MPI_COMM_WORLD or mpi://WORLD; MPI_GROUP_NULL: not known */
};

struct file_name {
    char *name;
    uint64_t opens;
};

struct files {
    struct handles handles;
    struct file_name *all; /* [number] */
    int count, capacity;
    struct table numbers; /* struct name_row: by a hash of the name */
};

struct region {
    char *name;
    uint64_t entries;
    uint64_t time;             /* switched on, in ticks, up to when it was last closed */
    uint64_t since;            /* of the on-time, where it is open */
    uint64_t path, path_since; /* the same for the logical clock; see path/now.h */
    int open;                  /* how many times it is open */
};

struct region_node {
    int parent; /* node; -1: of node 0 */
    int region; /* of the set, the one with the highest number */
};

struct regions {
    _Atomic uint64_t now; /* what calls are noted under, but for their function, and whether they
                             are: see CALL_APART */
    struct region *all;
    int count;
    struct region_node *nodes;
    int node_count;
    int *open; /* regions, in the order in which they were opened */
    int open_count;
    uint64_t unmatched;        /* ends of regions that were not open */
    char first_unmatched[128]; /* the first one's name */
    uint64_t on_time;  /* ticks between MPI_Init's end and now, switched on, up to `on_since` */
    uint64_t on_since; /* 0: off, or not begun */
    struct windows_scale scale;
    struct windows on_windows; /* what on_time contains */
};

struct receive;

struct receives {
    struct pending_table table; /* struct receive */
    uint64_t epoch; /* grows when the layer is switched off: it misses completions then */
};

/* Where the call that posts was noted, in its thread's tables. */
struct receives_post {
    struct site *site;         /* NULL: memory was out */
    struct numbered_row *comm; /* NULL: likewise, or there was none */
    uint64_t comm_handle;      /* its handle */
    uint64_t sent;             /* by the same call */
};

#endif
