/* SPDX-License-Identifier: MIT */
/* See regions.h. */
#define _GNU_SOURCE
#include "record/regions.h"

#include "layer.h"
#include "util/util.h"
#include "write/definitions.h"

#include <stdlib.h>
#include <string.h>

struct region {
    char *name;
    int open; /* how many times */
    bool is_chosen;
};

struct regions {
    struct region *all;
    uint32_t count;
    int chosen_open;
};

static struct region *find(struct layer *layer, const char *name)
{
    struct regions *regions = layer->regions;
    uint32_t i = 0;
    while (regions && i < regions->count && strcmp(regions->all[i].name, name) != 0)
        i++;
    return regions && i < regions->count ? &regions->all[i] : NULL;
}

static struct region *add(struct layer *layer, const char *name)
{
    if (!layer->regions && !(layer->regions = calloc(1, sizeof *layer->regions)))
        return NULL;
    struct regions *regions = layer->regions;
    struct region *all = realloc(regions->all, (regions->count + 1) * sizeof *all);
    if (all)
        regions->all = all;
    struct definition *definition = all ? definition_make(DEFINES_REGION, regions->count) : NULL;
    char *copy = definition ? strdup(name) : NULL, *defined = copy ? strdup(name) : NULL;
    if (!defined) {
        free(copy);
        free(definition);
        return NULL;
    }
    definition->region.name = defined;
    definitions_add(layer, definition);
    struct region *region = &regions->all[regions->count++];
    *region = (struct region){copy, 0,
                              layer->options.regions &&
                                  qmpi_patterns_match(layer->options.regions, name, false)};
    return region;
}

uint32_t regions_begin(struct layer *layer, const char *name, int *changes)
{
    *changes = 0;
    pthread_mutex_lock(&layer->lock);
    struct region *region = find(layer, name);
    if (!region)
        region = add(layer, name);
    if (region) {
        region->open++;
        *changes = region->is_chosen && !layer->regions->chosen_open++;
    }
    const uint32_t index = region ? (uint32_t)(region - layer->regions->all) : TRACE_NONE;
    pthread_mutex_unlock(&layer->lock);
    return index;
}

uint32_t regions_end(struct layer *layer, const char *name, int *changes)
{
    *changes = 0;
    pthread_mutex_lock(&layer->lock);
    struct region *region = find(layer, name);
    const bool is_open = region && region->open;
    if (is_open) {
        region->open--;
        *changes = region->is_chosen && !--layer->regions->chosen_open ? -1 : 0;
    }
    const uint32_t index = is_open ? (uint32_t)(region - layer->regions->all) : TRACE_NONE;
    pthread_mutex_unlock(&layer->lock);
    return index;
}
