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

static struct site *add(struct thread *thread, const uint64_t *key, size_t depth)
{
    uint64_t *row = table_add(&thread->sites, key);
    for (size_t i = 0; i < depth && key[1 + i]; i++)
        modules_note(key[1 + i]);
    return row ? site_of(row, depth) : NULL;
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

struct site *sites_add(struct thread *thread, const uint64_t *key)
{
    return add(thread, key, 1);
}

struct site *sites_find_deep(struct thread *thread, uint64_t number, void *caller, int depth)
{
    uint64_t key[1 + PROFILE_DEPTH_MAX] = {number, (uint64_t)(uintptr_t)caller};
    if (caller)
        unwind(key + 1, caller, depth);
    const size_t words = 1 + (size_t)depth;
    uint64_t *row = table_find(&thread->sites, key, words);
    return row ? site_of(row, words - 1) : add(thread, key, words - 1);
}
