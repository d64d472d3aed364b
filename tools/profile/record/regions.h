/* SPDX-License-Identifier: MIT */
/*
 * The state that MPI_Pcontrol sets for the whole process: whether profiling is on, and which
 * regions are open. Each set of open regions that occurs is a node (see struct layer_region_node).
 * Calls are counted under the current node, and thus in all its regions.
 *
 * Functions that get a struct layer * take the layer's lock; the others take none.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_REGIONS_H
#define QMPI_TOOL_PROFILE_RECORD_REGIONS_H

#include "tools/profile/layer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns false if memory is exhausted. */
bool regions_make(struct layer_regions *regions);

/* Starts application time, when MPI_Init has ended or the first session was opened. */
void regions_begin(struct layer *layer);

/* Stops application time until regions_begin is called again. Calls are still counted. Call this at
 * the beginning of MPI_Finalize, unless a session ends later, and at the end of the last session,
 * unless MPI_Finalize is still to come. */
void regions_end(struct layer *layer);

/* Returns the application time up to the tick `moment` during which profiling was on, in ticks. The
 * caller must hold the layer's lock, and must have taken it no later than at `moment`. */
uint64_t regions_time(const struct layer_regions *regions, uint64_t moment);

/* Returns the same for the time during which profiling was off. */
uint64_t regions_off_time(const struct layer_regions *regions, uint64_t moment);

/* Stops application time and profiling for ever, in MPI_Finalize. */
void regions_finish(struct layer *layer);

/* Switches profiling on or off, as MPI_Pcontrol(1) and MPI_Pcontrol(0) demand. */
void regions_switch(struct layer *layer, bool on);

/* Opens or closes a region. If the region is not open, regions_close only counts this unmatched
 * end. If memory is exhausted, regions_open does nothing but report that. */
void regions_open(struct layer *layer, const char *name);
void regions_close(struct layer *layer, const char *name);

/* Returns the node of the regions that are open now. */
static inline int regions_node(const struct layer_regions *regions)
{
    return thread_key_node(atomic_load(&regions->now));
}

/* Returns whether it is application time now. */
static inline bool regions_have_begun(const struct layer_regions *regions)
{
    return !(atomic_load(&regions->now) & CALL_APART);
}

/* Returns the key under which calls are counted now, without the number of their function. */
static inline uint64_t regions_place(const struct layer_regions *regions)
{
    return atomic_load_explicit(&regions->now, memory_order_relaxed);
}

/* Returns whether profiling is on. */
static inline bool regions_are_on(const struct layer_regions *regions)
{
    return !(regions_place(regions) & CALL_OFF);
}

/* Calls `each` for each region of a node. The caller holds the layer's lock. */
typedef void region_visitor(void *data, int region);
void regions_visit(const struct layer_regions *regions, int node, region_visitor *each, void *data);

#endif
