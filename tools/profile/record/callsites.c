/* SPDX-License-Identifier: MIT */
/* See callsites.h. */
#include "record/callsites.h"

#include "record/traits.h"

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

static void describe(const struct thread *thread, struct site *site, uint64_t key)
{
    const struct traits *traits = &traits_all[call_key_number(key)];
    const bool usual = !thread->interrupts && traits->ends_usually && !(key & CALL_APART);
    site->usual = usual ? key & ~(uint64_t)CALL_NUMBER : UINT64_MAX;
    site->end = traits->end;
    site->comm_argument = traits->comm;
}

static struct site *find(struct thread *thread, const uint64_t *key, size_t depth)
{
    uint64_t *row = table_find(&thread->sites, key, 1 + depth);
    if (!row && !(row = add(thread, key, depth)))
        return NULL;
    struct site *site = site_of(row, depth);
    const uint64_t function = key[0] & ~(uint64_t)CALL_APART;
    if (__builtin_expect(!site->function, 0)) {
        describe(thread, site, key[0]);
        site->function = table_get(&thread->functions, &function, 1);
        if (site->function)
            note_add(&site->function->times[note_time_bin(0)], UINT64_MAX);
    }
    return site->function ? site : NULL;
}

struct site *sites_find(struct thread *thread, uint64_t key, const QMPIX_Call *call, int depth)
{
    void *callers[PROFILE_DEPTH_MAX];
    uint64_t words[1 + PROFILE_DEPTH_MAX] = {key};
    const size_t frames = (size_t)depth;
    sites_callers(call, callers, frames);
    for (size_t i = 0; i < frames; i++)
        words[1 + i] = (uint64_t)(uintptr_t)callers[i];
    struct site *site = find(thread, words, frames);
    if (site && traits_all[call_key_number(key)].begins_simply && !thread->interrupts)
        *sites_recent_place(thread, callers, frames) = site;
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
