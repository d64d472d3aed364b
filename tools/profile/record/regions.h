/* SPDX-License-Identifier: MIT */
/*
 * What MPI_Pcontrol steers: whether profiling is on, and the regions that are open. Both hold for
 * the whole process. Every set of open regions that occurs is a node; calls are noted under the
 * node of their time and count in all its regions. Node 0 is outside all regions.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_REGIONS_H
#define QMPI_TOOL_PROFILE_RECORD_REGIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer;

struct region {
    char *name;
    uint64_t entries;
    uint64_t time;  /* switched on, in ticks, up to when it was last closed */
    uint64_t since; /* of the on-time, where it is open */
    int open;       /* how many times it is open */
};

struct region_node {
    int parent; /* node; -1: of node 0 */
    int region; /* of the set, the one with the highest number */
};

struct regions {
    atomic_bool on;
    atomic_int node; /* of now */
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
    atomic_bool begun; /* MPI_Init has ended */
};

bool regions_make(struct regions *regions);

/* MPI_Init has ended: application time begins. */
void regions_begin(struct layer *layer);

/* The last session was finalized, and MPI_Init not called: application time stands still, until
 * MPI begins again. */
void regions_end(struct layer *layer);

/* Application time up to now, in ticks. Under the layer's lock. */
uint64_t regions_time(const struct regions *regions);

/* MPI_Pcontrol(0), (1). */
void regions_switch(struct layer *layer, bool on);

/* Opens and closes a region. An end without a begin is counted. */
void regions_open(struct layer *layer, const char *name);
void regions_close(struct layer *layer, const char *name);

/* Whether the region is among those of the node. Under the layer's lock. */
bool regions_hold(const struct regions *regions, int node, int region);

#endif
