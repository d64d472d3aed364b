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

static inline struct site **sites_recent_place(struct thread *thread, const void *caller)
{
    const uint64_t hash = (uint64_t)(uintptr_t)caller * UINT64_C(0x9e3779b97f4a7c15);
    return &thread->recent[hash >> (64 - RECENT_SITES_BITS)];
}

/* The same as sites_find if it was found not long ago, with a depth of 1; else NULL. */
static inline struct site *sites_find_recent(struct thread *thread, uint64_t key,
                                             const void *caller)
{
    struct site *site = *sites_recent_place(thread, caller);
    const uint64_t *words = site_key(site, 1);
    return words[0] == key && words[1] == (uint64_t)(uintptr_t)caller ? site : NULL;
}

#endif
