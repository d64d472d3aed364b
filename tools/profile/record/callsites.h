/* SPDX-License-Identifier: MIT */
/* Call sites: where in the program a call was made, as one frame or as several. */
#ifndef QMPI_TOOL_PROFILE_RECORD_CALLSITES_H
#define QMPI_TOOL_PROFILE_RECORD_CALLSITES_H

#include "record/threads.h"

#include <qmpi/observer.h>

/* What this thread has noted, under a key of calls, for the place that the call comes from; NULL:
 * memory is out. */
struct site *sites_find(struct thread *thread, uint64_t key, const QMPIX_Call *call, int depth);

/* The same place under another key. */
struct site *sites_find_other(struct thread *thread, uint64_t key, const struct site *site,
                              int depth);

/* The place that a call comes from: `depth` frames, the caller first; NULL: no more. */
static inline void sites_callers(const QMPIX_Call *call, void **callers, size_t depth)
{
    int count = 1;
    if (depth == 1)
        QMPIX_Call_get_caller(call, callers);
    else
        QMPIX_Call_get_callers(call, (int)depth, callers, &count);
    for (size_t i = (size_t)count; i < depth; i++)
        callers[i] = NULL;
}

static inline struct site **sites_recent_place(struct thread *thread, void *const *callers,
                                               size_t depth)
{
    uint64_t hash = (uint64_t)(uintptr_t)callers[0];
    for (size_t i = 1; i < depth; i++)
        hash = (hash << 7 | hash >> 57) ^ (uint64_t)(uintptr_t)callers[i];
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return &thread->recent[hash >> (64 - RECENT_SITES_BITS)];
}

/* The same as sites_find, for a function that begins simply, if it was found not long ago; else
 * NULL. */
static inline struct site *sites_find_recent(struct thread *thread, uint64_t key,
                                             void *const *callers, size_t depth)
{
    struct site *site = *sites_recent_place(thread, callers, depth);
    const uint64_t *words = site_key(site, depth);
    if (words[0] != key)
        return NULL;
    for (size_t i = 0; i < depth; i++) {
        if (words[1 + i] != (uint64_t)(uintptr_t)callers[i])
            return NULL;
    }
    return site;
}

#endif
