/* SPDX-License-Identifier: MIT */
/* See sites.h. */
#include "record/sites.h"

#include "record/recorder.h"
#include "util/util.h"
#include "write/definitions.h"

#include <string.h>

struct site {
    struct site *next; /* in the bucket */
    uint32_t index;
    int count;
    void *callers[];
};

static bool is_at(const struct site *site, void *const *callers, int count)
{
    return site->count == count && !memcmp(site->callers, callers, (size_t)count * sizeof *callers);
}

static uint64_t hash(void *const *callers, int count)
{
    uint64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum = (sum << 7 | sum >> 57) ^ (uint64_t)(uintptr_t)callers[i];
    return sum * UINT64_C(0x9e3779b97f4a7c15);
}

/* The libraries are looked up now, because they may be closed before the site is written. */
static void define(struct layer *layer, const struct site *site)
{
    struct definition *definition = qmpi_arena_take(sizeof *definition);
    struct definition_frame *frames =
        definition ? qmpi_arena_take((size_t)site->count * sizeof *frames) : NULL;
    if (!frames)
        return;
    *definition = (struct definition){.kind = DEFINES_SITE, .index = site->index};
    definition->site.frames = frames;
    for (int i = 0; i < site->count; i++) {
        struct definition_frame *frame = &frames[definition->site.count++];
        *frame = (struct definition_frame){"", (size_t)(uintptr_t)site->callers[i]};
        QMPIX_Address_find(site->callers[i], &frame->library, &frame->offset);
    }
    definitions_add(layer, definition);
}

static const struct site *find_in(const struct site *site, void *const *callers, int count)
{
    while (site && !is_at(site, callers, count))
        site = site->next;
    return site;
}

static const struct site *add(struct layer *layer, struct site *_Atomic *bucket,
                              void *const *callers, int count)
{
    struct site *site = qmpi_arena_take(sizeof *site + (size_t)count * sizeof *callers);
    if (!site)
        return NULL;
    site->index = atomic_fetch_add(&layer->sites.count, 1);
    site->count = count;
    memcpy(site->callers, callers, (size_t)count * sizeof *callers);
    define(layer, site);
    site->next = atomic_load(bucket);
    do {
        const struct site *known = find_in(site->next, callers, count);
        if (known)
            return known; /* somebody was faster */
    } while (!atomic_compare_exchange_weak(bucket, &site->next, site));
    return site;
}

static const struct site *find(struct recorder *recorder, void *const *callers, int count)
{
    const uint64_t key = hash(callers, count);
    if (!recorder->site_cache)
        recorder->site_cache = qmpi_arena_take(sizeof *recorder->site_cache);
    const struct site **recent =
        recorder->site_cache ? &recorder->site_cache->recent[key >> (64 - SITE_CACHE_BITS)] : NULL;
    if (recent && *recent && is_at(*recent, callers, count))
        return *recent;
    struct site *_Atomic *bucket = &recorder->layer->sites.buckets[key >> (64 - SITE_BUCKET_BITS)];
    const struct site *site = find_in(atomic_load(bucket), callers, count);
    if (!site)
        site = add(recorder->layer, bucket, callers, count);
    if (recent)
        *recent = site;
    return site;
}

uint32_t sites_find(struct recorder *recorder, const QMPIX_Call *call)
{
    void *callers[TRACE_DEPTH_MAX];
    int count = 1;
    const int depth = recorder->layer->options.depth;
    if (depth == 1)
        QMPIX_Call_get_caller(call, callers);
    else
        QMPIX_Call_get_callers(call, depth, callers, &count);
    const struct site *site = find(recorder, callers, count);
    return site ? site->index : TRACE_NONE;
}
