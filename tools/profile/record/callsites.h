/* SPDX-License-Identifier: MIT */
/* Call sites: where in the program a call was made, as one frame or as several. */
#ifndef QMPI_TOOL_PROFILE_RECORD_CALLSITES_H
#define QMPI_TOOL_PROFILE_RECORD_CALLSITES_H

#include "record/threads.h"

#include <qmpi/observer.h>

/* To be called once, before the first call. */
void sites_start(void);

/* A new one of one frame; one of several frames, new or not. NULL: memory is out. */
struct site *sites_add(struct thread *thread, const uint64_t *key);
struct site *sites_find_deep(struct thread *thread, uint64_t number, void *caller, int depth);

/* What this thread has noted for the place that the call comes from; NULL: memory is out. */
static inline struct site *sites_find(struct thread *thread, const QMPIX_Call *call, int depth)
{
    void *caller = NULL;
    QMPIX_Call_get_caller(call, &caller);
    const uint64_t number = (uint64_t)call->function->number;
    if (__builtin_expect(depth != 1, 0))
        return sites_find_deep(thread, number, caller, depth);
    const uint64_t key[] = {number, (uint64_t)(uintptr_t)caller};
    uint64_t *row = table_find(&thread->sites, key, 2);
    return __builtin_expect(row != NULL, 1) ? site_of(row, 1) : sites_add(thread, key);
}

#endif
