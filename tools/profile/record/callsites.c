/* SPDX-License-Identifier: MIT */
/* See callsites.h. */
#define UNW_LOCAL_ONLY
#include "record/callsites.h"

#include "record/startup_frames.h"
#include "symbols/symbols.h"

#include <libunwind.h>
#include <string.h>

/* How many frames the tools and the library may have between the program's call and us, and the
 * most that stand above `main`: all of these must be there to be told from the program's. */
enum { BETWEEN_USUAL = 12, BETWEEN_MAX = 160, ABOVE_MAIN = 4 };

void sites_start(void)
{
    /* Otherwise all threads share one cache, under a lock. */
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    start_code_find();
}

static uint64_t *add(struct thread *thread, const uint64_t *key, size_t depth)
{
    for (size_t i = 0; i < depth && key[1 + i]; i++)
        modules_note(key[1 + i]);
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

/* Where the caller is among the frames; -1: it is not there. */
static int place_of(void *const *frames, int count, const void *caller)
{
    for (int i = 0; i < count; i++) {
        if (frames[i] == caller)
            return i;
    }
    return -1;
}

/* The caller's callers, up to `main` or a thread's first function. Unwinding goes no further than
 * the frames that are asked for. */
static void unwind(uint64_t *to, void *caller, int depth)
{
    void *frames[PROFILE_DEPTH_MAX + BETWEEN_MAX + ABOVE_MAIN];
    int room = depth + BETWEEN_USUAL + ABOVE_MAIN;
    int count = unw_backtrace(frames, room);
    int place = place_of(frames, count, caller);
    if (count == room && (place < 0 || place > BETWEEN_USUAL)) {
        room = depth + BETWEEN_MAX + ABOVE_MAIN;
        count = unw_backtrace(frames, room);
        place = place_of(frames, count, caller);
    }
    if (count < room)
        count = start_code_trim(frames, count);
    for (int i = 1; i < depth && place >= 0 && place + i < count; i++)
        to[i] = (uint64_t)(uintptr_t)frames[place + i];
}

struct site *sites_find(struct thread *thread, uint64_t key, const QMPIX_Call *call, int depth)
{
    void *caller = NULL;
    QMPIX_Call_get_caller(call, &caller);
    uint64_t words[1 + PROFILE_DEPTH_MAX] = {key, (uint64_t)(uintptr_t)caller};
    if (depth > 1 && caller)
        unwind(words + 1, caller, depth);
    struct site *site = find(thread, words, (size_t)depth);
    if (depth == 1 && site)
        *sites_recent_place(thread, caller) = site;
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
