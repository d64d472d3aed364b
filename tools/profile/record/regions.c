/* SPDX-License-Identifier: MIT */
/* See regions.h. */
#define _GNU_SOURCE
#include "tools/profile/record/regions.h"

#include "toolkit/toolkit.h"
#include "tools/profile/layer.h"
#include "tools/profile/record/outside.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct region_name {
    uint64_t key[2];      /* the hash and the length, which together identify a name */
    int64_t number_after; /* the number + 1; 0: no number was assigned yet */
};

struct region_set {
    uint64_t key[2]; /* `without` and `with`; for a leaf, UINT64_MAX and the region */
    int64_t node;    /* 0: the set has no node yet */
};

bool regions_make(struct layer_regions *regions)
{
    *regions = (struct layer_regions){.node_count = 1};
    if (!QMPI_MEMORY_RESERVE(regions->nodes, regions->node_room, 1) ||
        !table_make(&regions->names, 2, sizeof(struct region_name)) ||
        !table_make(&regions->sets, 2, sizeof(struct region_set)))
        return false;
    atomic_store(&regions->now, CALL_APART);
    return true;
}

/* ---- Time switched on ------------------------------------------------------------------------ */

/* Adds the time since profiling was switched on or off to on_time or off_time, and ends this
 * period. */
static void stop_period(struct layer_regions *regions)
{
    const uint64_t now = ticks_now();
    if (regions->on_since) {
        regions->on_time += now - regions->on_since;
        windows_add(&regions->on_windows, &regions->scale, regions->on_since, now);
    }
    regions->off_time = regions_off_time(regions, now);
    regions->on_since = regions->off_since = 0;
}

static void start_period(struct layer_regions *regions, bool on)
{
    const uint64_t now = ticks_now();
    regions->on_since = on ? now : 0;
    regions->off_since = on ? 0 : now;
}

uint64_t regions_time(const struct layer_regions *regions, uint64_t moment)
{
    return regions->on_time + (regions->on_since ? moment - regions->on_since : 0);
}

uint64_t regions_off_time(const struct layer_regions *regions, uint64_t moment)
{
    return regions->off_time + (regions->off_since ? moment - regions->off_since : 0);
}

void regions_begin(struct layer *layer)
{
    struct layer_regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    if (!regions_have_begun(regions)) {
        start_period(regions, regions_are_on(regions));
        windows_begin(&regions->scale, regions->on_since + regions->off_since);
        outside_restart(layer->tool_id);
    }
    atomic_fetch_and(&regions->now, ~(uint64_t)CALL_APART);
    pthread_mutex_unlock(&layer->lock);
}

void regions_end(struct layer *layer)
{
    struct layer_regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    stop_period(regions);
    atomic_fetch_or(&regions->now, CALL_APART);
    pthread_mutex_unlock(&layer->lock);
}

void regions_switch(struct layer *layer, bool on)
{
    struct layer_regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    if (regions_have_begun(regions) && on != regions_are_on(regions)) {
        stop_period(regions);
        start_period(regions, on);
        if (on)
            outside_restart(layer->tool_id);
    }
    if (on)
        atomic_fetch_and(&regions->now, ~(uint64_t)CALL_OFF);
    else
        atomic_fetch_or(&regions->now, CALL_OFF);
    pthread_mutex_unlock(&layer->lock);
}

void regions_finish(struct layer *layer)
{
    struct layer_regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    stop_period(regions);
    atomic_fetch_or(&regions->now, CALL_OFF);
    pthread_mutex_unlock(&layer->lock);
}

/* ---- Sets of open regions -------------------------------------------------------------------- */

/* The functions that make nodes return -1 if memory is exhausted. */
static int get_node(struct layer_regions *regions, const uint64_t key[2],
                    const struct layer_region_node *wanted)
{
    struct region_set *set = table_get(&regions->sets, key, 2);
    if (!set || set->node)
        return set ? (int)set->node : -1;
    if (!QMPI_MEMORY_RESERVE(regions->nodes, regions->node_room, (size_t)regions->node_count + 1))
        return -1;
    regions->nodes[regions->node_count] = *wanted;
    set->node = regions->node_count;
    return regions->node_count++;
}

static int get_leaf(struct layer_regions *regions, int region)
{
    const uint64_t key[2] = {UINT64_MAX, (uint64_t)region};
    return get_node(regions, key, &(struct layer_region_node){.prefix = (unsigned)region});
}

static int join_sets(struct layer_regions *regions, int without, int with, unsigned bit,
                     unsigned prefix)
{
    const uint64_t key[2] = {(uint64_t)without, (uint64_t)with};
    if (without <= 0 || with <= 0) /* One of them is empty, or memory is exhausted. */
        return without < 0 || with < 0 ? -1 : without + with;
    return get_node(regions, key, &(struct layer_region_node){without, with, bit, prefix});
}

/* Returns the number without the bit and the bits below it. */
static unsigned prefix_above(unsigned number, unsigned bit)
{
    return number & ~(2 * bit - 1);
}

static bool may_contain(const struct layer_region_node *node, unsigned region)
{
    return node->bit ? prefix_above(region, node->bit) == node->prefix : region == node->prefix;
}

static int add_to_set(struct layer_regions *regions, int number, int region)
{
    const struct layer_region_node node = regions->nodes[number];
    const unsigned wanted = (unsigned)region;
    if (!number)
        return get_leaf(regions, region);
    if (!may_contain(&node, wanted)) {
        const unsigned bit = 1U << (31 - __builtin_clz(node.prefix ^ wanted));
        const int leaf = get_leaf(regions, region);
        return wanted & bit ? join_sets(regions, number, leaf, bit, prefix_above(wanted, bit))
                            : join_sets(regions, leaf, number, bit, prefix_above(wanted, bit));
    }
    if (!node.bit)
        return number;
    return wanted & node.bit
               ? join_sets(regions, node.without, add_to_set(regions, node.with, region), node.bit,
                           node.prefix)
               : join_sets(regions, add_to_set(regions, node.without, region), node.with, node.bit,
                           node.prefix);
}

static int remove_from_set(struct layer_regions *regions, int number, int region)
{
    const struct layer_region_node node = regions->nodes[number];
    const unsigned wanted = (unsigned)region;
    if (!number || !may_contain(&node, wanted))
        return number;
    if (!node.bit)
        return 0;
    return wanted & node.bit
               ? join_sets(regions, node.without, remove_from_set(regions, node.with, region),
                           node.bit, node.prefix)
               : join_sets(regions, remove_from_set(regions, node.without, region), node.with,
                           node.bit, node.prefix);
}

void regions_visit(const struct layer_regions *regions, int number, region_visitor *each,
                   void *data)
{
    const struct layer_region_node *node = &regions->nodes[number];
    if (!number)
        return;
    if (node->bit) {
        regions_visit(regions, node->without, each, data);
        regions_visit(regions, node->with, each, data);
    } else {
        each(data, (int)node->prefix);
    }
}

/* Sets the node of the open regions. If memory is exhausted, the previous node remains. */
static void set_open_node(struct layer_regions *regions, int node)
{
    const uint64_t flags = atomic_load(&regions->now) & (CALL_APART | CALL_OFF);
    if (node < 0)
        return;
    regions->open = node;
    atomic_store(&regions->now, (uint64_t)node << 32 | flags);
}

/* ---- Regions --------------------------------------------------------------------------------- */

static int add_region(struct layer_regions *regions, const char *name)
{
    const size_t count = (size_t)regions->count + 1;
    if (!QMPI_MEMORY_RESERVE(regions->all, regions->room, count))
        return -1;
    char *copy = strdup(name);
    if (!copy)
        return -1;
    regions->all[regions->count] = (struct layer_region){.name = copy};
    return regions->count++;
}

/* Returns the number of a region, and adds the region if it is new and `adds` is set. Returns -1 if
 * there is none or memory is exhausted. */
static int find_region(struct layer_regions *regions, const char *name, bool adds)
{
    const uint64_t key[2] = {table_hash_text(name), strlen(name)};
    struct region_name *row =
        adds ? table_get(&regions->names, key, 2) : table_find(&regions->names, key, 2);
    if (row && !row->number_after)
        row->number_after = add_region(regions, name) + 1;
    return row ? (int)row->number_after - 1 : -1;
}

static void begin_region(const struct layer *layer, struct layer_region *region)
{
    region->since = regions_time(&layer->regions, ticks_now());
}

static void end_region(const struct layer *layer, struct layer_region *region)
{
    region->time += regions_time(&layer->regions, ticks_now()) - region->since;
}

void regions_open(struct layer *layer, const char *name)
{
    struct layer_regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    const int number = find_region(regions, name, true);
    const int node = number < 0 ? -1 : add_to_set(regions, regions->open, number);
    if (node >= 0) {
        struct layer_region *region = &regions->all[number];
        region->entries++;
        if (!region->open++)
            begin_region(layer, region);
        set_open_node(regions, node);
    }
    pthread_mutex_unlock(&layer->lock);
    if (node < 0)
        threads_out_of_memory(layer->tool_id);
}

/* Regions that were opened after this one stay open. */
void regions_close(struct layer *layer, const char *name)
{
    struct layer_regions *regions = &layer->regions;
    pthread_mutex_lock(&layer->lock);
    const int number = find_region(regions, name, false);
    if (number >= 0 && regions->all[number].open) {
        struct layer_region *region = &regions->all[number];
        if (!--region->open) {
            end_region(layer, region);
            set_open_node(regions, remove_from_set(regions, regions->open, number));
        }
    } else if (!regions->unmatched++) {
        strncpy(regions->first_unmatched, name, sizeof regions->first_unmatched - 1);
    }
    pthread_mutex_unlock(&layer->lock);
}
