/* SPDX-License-Identifier: MIT */
/* See callsites.h. */
#include "record/callsites.h"

#include <string.h>

/* An address is recorded, because its library may be closed before the profile is written. */
static uint64_t *add(struct thread *thread, const uint64_t *key, size_t depth)
{
    const char *library;
    size_t offset;
    for (size_t i = 0; i < depth && key[1 + i]; i++)
        QMPIX_Address_find((const void *)(uintptr_t)key[1 + i], &library, &offset);
    return table_add(&thread->sites, key);
}

static struct site *find(struct thread *thread, const uint64_t *key, size_t depth)
{
    uint64_t *row = table_find(&thread->sites, key, 1 + depth);
    if (!row && !(row = add(thread, key, depth)))
        return NULL;
    struct site *site = site_of(row, depth);
    const uint64_t function = key[0] & ~(uint64_t)CALL_APART;
    if (__builtin_expect(!site->function, 0))
        site->function = table_get(&thread->functions, &function, 1);
    return site->function ? site : NULL;
}

struct site *sites_find(struct thread *thread, uint64_t key, const QMPIX_Call *call, int depth)
{
    void *callers[PROFILE_DEPTH_MAX];
    uint64_t words[1 + PROFILE_DEPTH_MAX];
    int count = 1;
    callers[0] = NULL;
    if (depth == 1)
        QMPIX_Call_get_caller(call, callers);
    else
        QMPIX_Call_get_callers(call, depth, callers, &count);
    words[0] = key;
    for (int i = 0; i < depth; i++)
        words[1 + i] = i < count ? (uint64_t)(uintptr_t)callers[i] : 0;
    struct site *site = find(thread, words, (size_t)depth);
    if (depth == 1 && site)
        *sites_recent_place(thread, callers[0]) = site;
    return site;
}

struct site *sites_find_other(struct thread *thread, uint64_t key, const struct site *site,
                              int depth)
{
    const size_t frames = (size_t)depth;
    uint64_t words[1 + PROFILE_DEPTH_MAX] = {key};
    memcpy(words + 1, site_key(site, frames) + 1, frames * sizeof *words);
    return find(thread, words, frames);
}
