/* SPDX-License-Identifier: MIT */
/*
 * The global definitions of an archive: what the definitions of all processes have in common has
 * one number there. Texts belong to the processes.
 */
#ifndef QMPI_TRACE_OTF2_PLAN_H
#define QMPI_TRACE_OTF2_PLAN_H

#include "trace/map.h"
#include "trace/otf2/part.h"

#include <otf2/otf2.h>

/* A process of the archive; one of which only the rank is known has no part. One without a part and
 * a rank stands for all processes that are not of MPI_COMM_WORLD. */
struct archive_rank {
    int rank; /* in MPI_COMM_WORLD; TRACE_UNDEFINED: not known */
    const struct archive_part *part;
    uint64_t location;
};

struct archive_region {
    const char *name, *description;
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
};

struct archive_comm {
    const char *name;
    uint64_t parent_id;
    uint32_t group;  /* of both groups, if it is an intercommunicator */
    uint32_t parent; /* TRACE_NO_NUMBER: not known */
    uint32_t number; /* in the archive, where parents come first */
    bool is_self, has_events;
};

struct archive_window {
    const char *name;
    uint32_t comm;
    bool has_events;
};

struct archive_file {
    uint32_t name; /* of the file: a number in `file_names` */
    uint32_t comm;
};

struct archive_place {
    uint32_t file; /* a number in `texts` */
    uint32_t line;
};

struct archive_context {
    uint32_t region, place, parent; /* parent: TRACE_NO_NUMBER: none */
};

struct archive_plan {
    const struct archive_part *parts;
    size_t part_count;
    struct archive_tables *tables; /* of each part */

    struct archive_rank *ranks;
    size_t rank_count;
    struct trace_map hosts;
    struct trace_map region_keys;
    struct archive_region *regions;
    struct trace_map comm_keys;
    struct archive_comm *comms;
    uint32_t *comm_order;    /* the indices, by number */
    struct trace_map groups; /* keys: arrays of uint64_t */
    struct trace_map window_keys;
    struct archive_window *windows;
    struct trace_map file_keys, file_names;
    struct archive_file *files;
    struct trace_map metric_keys;
    const struct trace_counter **metrics;
    struct trace_map texts, frame_keys, place_keys, context_keys;
    struct archive_frame *frames; /* what is at an address: see plan_sites.c */
    struct archive_place *places;
    struct archive_context *contexts;
    size_t region_room, comm_room, window_room, file_room, metric_room, frame_room, place_room,
        context_room;

    int64_t base, end, started;
    uint64_t bound;
    bool failed; /* memory is exhausted */
};

/* Of parts that remain. The plan is to be cleared also if it failed. */
void archive_plan_make(struct archive_plan *plan, const struct archive_part *parts, size_t count);
void archive_plan_clear(struct archive_plan *plan);

/* Writes the global definitions. */
bool archive_write_definitions(const struct archive_plan *plan, OTF2_GlobalDefWriter *writer);

#endif
