/* SPDX-License-Identifier: MIT */
/*
 * The plan of the global definitions of an archive. An object that several processes have in common
 * gets one number. The names in a plan are texts of the processes or of the maps of the plan.
 */
#ifndef QMPI_TRACE_OTF2_PLAN_H
#define QMPI_TRACE_OTF2_PLAN_H

#include "tools/trace/file/map.h"
#include "tools/trace/otf2/part.h"

#include <otf2/otf2.h>

/* ---- Functions ------------------------------------------------------------------------------- */

struct trace_plan_traits {
    OTF2_RegionRole role;
    OTF2_CollectiveOp operation; /* the collective operation, if the function is one */
    OTF2_RmaAtomicType atomic;
    bool accesses_file, writes_file, is_collective_access;
};

struct trace_plan_traits trace_plan_find_traits(const struct trace_function *function);

/* ---- Definitions ----------------------------------------------------------------------------- */

/* A process of the archive. A process of which only the rank is known has no part. An element
 * without part and rank stands for all processes outside of MPI_COMM_WORLD. */
struct trace_plan_rank {
    int rank; /* in MPI_COMM_WORLD, or TRACE_UNDEFINED */
    const struct trace_part *part;
    uint64_t location;
};

struct trace_plan_region {
    const char *name, *description;
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
};

struct trace_plan_comm {
    const char *name;
    uint64_t parent_id;
    /* Number in `groups`; for an intercommunicator, that of the union of both groups. */
    uint32_t group;
    uint32_t parent; /* TRACE_NO_NUMBER if it is unknown */
    uint32_t number; /* number in the archive, where parents come first */
    bool is_self, has_events;
};

struct trace_plan_window {
    const char *name;
    uint32_t comm; /* index in `comms`, or TRACE_NO_NUMBER */
    bool has_events;
};

struct trace_plan_file {
    uint32_t name; /* name of the file: an index of `file_names` */
    uint32_t comm; /* index in `comms`, or TRACE_NO_NUMBER */
};

struct trace_plan_place {
    uint32_t file; /* an index of `texts` */
    uint32_t line;
};

struct trace_plan_context {
    uint32_t region, place, parent; /* `parent` may be TRACE_NO_NUMBER */
};

/* The attributes of calls in an archive, which contain the call site if it was recorded. */
enum { PLAN_ATTRIBUTE_SITE, PLAN_ATTRIBUTE_CONTEXT };

struct trace_plan {
    const struct trace_part *parts;
    size_t part_count;
    struct trace_part_tables *tables; /* [part] */

    struct trace_plan_rank *ranks;
    size_t rank_count;
    struct trace_map hosts;
    struct trace_map region_keys;
    struct trace_plan_region *regions;
    struct trace_map comm_keys;
    struct trace_plan_comm *comms;
    uint32_t *comm_order;    /* [number]: index of the communicator */
    struct trace_map groups; /* the keys are arrays of uint64_t: the members, as indices
                                of `ranks` */
    struct trace_map window_keys;
    struct trace_plan_window *windows;
    struct trace_map file_keys, file_names;
    struct trace_plan_file *files;
    struct trace_map metric_keys;
    const struct trace_counter **metrics;
    struct trace_map texts, frame_keys, place_keys, context_keys;
    struct trace_plan_frame *frames; /* the functions and source lines of addresses */
    struct trace_plan_place *places;
    struct trace_plan_context *contexts;
    size_t region_room, comm_room, window_room, file_room, metric_room, frame_room, place_room,
        context_room;

    /* World times of the earliest event and of the latest end of the parts, and the time of `base`
     * in nanoseconds since the Epoch. */
    int64_t base, end, started;
    uint64_t bound; /* the largest bound of the parts */
    bool failed;    /* memory was exhausted */
};

/* Makes the plan of the parts, which must stay valid until the plan is cleared. The plan must be
 * cleared even if `failed` is set. */
void trace_plan_make(struct trace_plan *plan, const struct trace_part *parts, size_t count);
void trace_plan_clear(struct trace_plan *plan);

/* Writes the global definitions. Returns false after an error. */
bool trace_plan_write(const struct trace_plan *plan, OTF2_GlobalDefWriter *writer);

#endif
