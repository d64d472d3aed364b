/* SPDX-License-Identifier: MIT */
/*
 * What MPI_Pcontrol steers: whether profiling is on, and the regions that are open. Both hold for
 * the whole process. Every set of open regions that occurs is a node; calls are noted under the
 * node of their time and count in all its regions. Node 0 is outside all regions.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_REGIONS_H
#define QMPI_TOOL_PROFILE_RECORD_REGIONS_H

#include "record/tables.h"

#include <stdbool.h>
#include <stdint.h>

struct layer;

bool regions_make(struct regions *regions);

/* MPI_Init has ended: application time begins. */
void regions_begin(struct layer *layer);

/* The last session was finalized, and MPI_Init not called: application time stands still, until
 * MPI begins again. */
void regions_end(struct layer *layer);

/* Application time up to `moment`, in ticks. Under the layer's lock, which has been held since that
 * moment. */
uint64_t regions_time(const struct regions *regions, uint64_t moment);

/* MPI_Pcontrol(0), (1). */
void regions_switch(struct layer *layer, bool on);

/* Opens and closes a region. An end without a begin is counted. */
void regions_open(struct layer *layer, const char *name);
void regions_close(struct layer *layer, const char *name);

/* The node of now. */
static inline int regions_node(const struct regions *regions)
{
    return call_key_node(atomic_load(&regions->now));
}

/* Whether application time has begun. */
static inline bool regions_have_begun(const struct regions *regions)
{
    return !(atomic_load(&regions->now) & CALL_APART);
}

/* What calls are noted under now. */
static inline uint64_t regions_place(const struct regions *regions)
{
    return atomic_load_explicit(&regions->now, memory_order_relaxed);
}

/* Whether profiling is on. */
static inline bool regions_are_on(const struct regions *regions)
{
    return !(regions_place(regions) & CALL_OFF);
}

/* Whether the region is among those of the node. Under the layer's lock. */
bool regions_hold(const struct regions *regions, int node, int region);

#endif
