/* SPDX-License-Identifier: MIT */
/* See regions.h. */
#define _GNU_SOURCE
#include "record/regions.h"

#include "layer.h"
#include "path/now.h"
#include "toolkit/toolkit.h"

#include <stdlib.h>
#include <string.h>

bool regions_make(struct regions *regions)
{
    *regions = (struct regions){.node_count = 1};
    regions->nodes = malloc(sizeof *regions->nodes);
    if (!regions->nodes)
        return false;
    regions->nodes[0] = (struct region_node){-1, -1};
    atomic_store(&regions->now, CALL_APART);
    return true;
}

/* ---- Time switched on ------------------------------------------------------------------------ */

/* Adds the time since profiling was switched on. */
static void stop(struct regions *regions)
{
    const uint64_t now = ticks_now();
    if (regions->on_since) {
        regions->on_time += now - regions->on_since;
        windows_add(&regions->on_windows, &regions->scale, regions->on_since, now);
    }
    regions->on_since = 0;
}

uint64_t regions_time(const struct regions *regions, uint64_t moment)
{
    return regions->on_time + (regions->on_since ? moment - regions->on_since : 0);
}

void regions_begin(struct layer *layer)
{
    struct regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    if (!regions_have_begun(regions)) {
        const uint64_t now = ticks_now();
        windows_begin(&regions->scale, now);
        regions->on_since = regions_are_on(regions) ? now : 0;
    }
    atomic_fetch_and(&regions->now, ~(uint64_t)CALL_APART);
    pthread_mutex_unlock(&layer->lock);
}

void regions_end(struct layer *layer)
{
    struct regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    stop(regions);
    atomic_fetch_or(&regions->now, CALL_APART);
    pthread_mutex_unlock(&layer->lock);
}

void regions_switch(struct layer *layer, bool on)
{
    struct regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    if (regions_have_begun(regions) && on != regions_are_on(regions)) {
        stop(regions);
        if (on)
            regions->on_since = ticks_now();
    }
    if (on)
        atomic_fetch_and(&regions->now, ~(uint64_t)CALL_OFF);
    else
        atomic_fetch_or(&regions->now, CALL_OFF);
    pthread_mutex_unlock(&layer->lock);
}

/* ---- Sets of open regions -------------------------------------------------------------------- */

bool regions_hold(const struct regions *regions, int node, int region)
{
    for (; node > 0; node = regions->nodes[node].parent) {
        if (regions->nodes[node].region == region)
            return true;
    }
    return false;
}

/* The node below `parent` with one region more; -1: memory is out. */
static int node_with(struct regions *regions, int parent, int region)
{
    for (int node = parent + 1; node < regions->node_count; node++) {
        if (regions->nodes[node].parent == parent && regions->nodes[node].region == region)
            return node;
    }
    struct region_node *nodes =
        realloc(regions->nodes, (size_t)(regions->node_count + 1) * sizeof *nodes);
    if (!nodes)
        return -1;
    regions->nodes = nodes;
    nodes[regions->node_count] = (struct region_node){parent, region};
    return regions->node_count++;
}

/* The open region with the next higher number than `region`; -1: none. */
static int next_open(const struct regions *regions, int region)
{
    int next = -1;
    for (int i = 0; i < regions->open_count; i++) {
        const int open = regions->open[i];
        if (open > region && (next < 0 || open < next))
            next = open;
    }
    return next;
}

/* By number, so that a set is one node in whatever order its regions were opened. Where memory is
 * out the calls count outside all regions. */
static void set_node(struct regions *regions)
{
    int node = 0;
    for (int region = next_open(regions, -1); region >= 0 && node >= 0;
         region = next_open(regions, region))
        node = node_with(regions, node, region);
    const uint64_t flags = atomic_load(&regions->now) & (CALL_APART | CALL_OFF);
    atomic_store(&regions->now, (uint64_t)(node < 0 ? 0 : node) << 32 | flags);
}

static int find_region(const struct regions *regions, const char *name)
{
    int region = regions->count;
    while (--region >= 0 && strcmp(regions->all[region].name, name))
        ;
    return region;
}

static int add_region(struct regions *regions, const char *name)
{
    struct region *all = realloc(regions->all, (size_t)(regions->count + 1) * sizeof *all);
    if (all)
        regions->all = all;
    char *copy = all ? strdup(name) : NULL;
    if (!copy)
        return -1;
    all[regions->count] = (struct region){.name = copy};
    return regions->count++;
}

static bool push(struct regions *regions, int region)
{
    int *open = realloc(regions->open, (size_t)(regions->open_count + 1) * sizeof *open);
    if (!open)
        return false;
    regions->open = open;
    open[regions->open_count++] = region;
    return true;
}

static void begin_region(const struct layer *layer, struct region *region)
{
    region->since = regions_time(&layer->regions, ticks_now());
    region->path_since = path_now(layer);
}

static void end_region(const struct layer *layer, struct region *region)
{
    region->time += regions_time(&layer->regions, ticks_now()) - region->since;
    region->path += path_now(layer) - region->path_since;
}

void regions_open(struct layer *layer, const char *name)
{
    struct regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    int number = find_region(regions, name);
    if (number < 0)
        number = add_region(regions, name);
    const bool good = number >= 0 && push(regions, number);
    if (good) {
        struct region *region = &regions->all[number];
        region->entries++;
        if (!region->open++)
            begin_region(layer, region);
        set_node(regions);
    }
    pthread_mutex_unlock(&layer->lock);
    if (!good)
        threads_out_of_memory(layer->tool_id);
}

/* The last time that it was opened; regions opened since then stay open. */
static void take_out(struct regions *regions, int number)
{
    int at = regions->open_count;
    while (--at >= 0 && regions->open[at] != number)
        ;
    regions->open_count--;
    memmove(regions->open + at, regions->open + at + 1,
            (size_t)(regions->open_count - at) * sizeof *regions->open);
}

void regions_close(struct layer *layer, const char *name)
{
    struct regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    const int number = find_region(regions, name);
    if (number >= 0 && regions->all[number].open) {
        struct region *region = &regions->all[number];
        if (!--region->open)
            end_region(layer, region);
        take_out(regions, number);
        set_node(regions);
    } else if (!regions->unmatched++) {
        strncpy(regions->first_unmatched, name, sizeof regions->first_unmatched - 1);
    }
    pthread_mutex_unlock(&layer->lock);
}
