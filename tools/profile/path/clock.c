/* SPDX-License-Identifier: MIT */
/* See clock.h. */
#define _GNU_SOURCE
#include "path/clock.h"

#include "util/util.h"

#include <pthread.h>
#include <stddef.h>

/* The first one of this thread; a single pointer, as in toolkit/thread_state.h. */
static _Thread_local struct path_clock *mine __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static bool has_key;

/* The thread ends: its clocks are used by the next one that begins. */
static void leave(void *first)
{
    for (struct path_clock *clock = first, *next; clock; clock = next) {
        next = clock->next_of_thread;
        clock->since = 0;
        clock->outermost = NULL;
        __atomic_store_n(&clock->used, false, __ATOMIC_RELEASE);
    }
    mine = NULL;
}

void path_clocks_start(void)
{
    if (!has_key)
        has_key = !pthread_key_create(&key, leave);
}

static struct path_clock *take_unused(struct path_clocks *clocks)
{
    struct path_clock *clock = __atomic_load_n(&clocks->all, __ATOMIC_ACQUIRE);
    for (; clock; clock = clock->next) {
        bool used = false;
        if (__atomic_compare_exchange_n(&clock->used, &used, true, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            if (clock->value > clocks->most)
                __atomic_store_n(&clocks->most, clock->value, __ATOMIC_RELAXED);
            return clock;
        }
    }
    return NULL;
}

static struct path_clock *make(struct path_clocks *clocks)
{
    struct path_clock *clock = qmpi_arena_take(sizeof *clock);
    if (!clock)
        return NULL;
    clock->used = true;
    clock->clocks = clocks;
    clock->pending_end = &clock->pending;
    clock->next = __atomic_load_n(&clocks->all, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&clocks->all, &clock->next, clock, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        continue;
    return clock;
}

struct path_clock *path_clock_find(struct path_clocks *clocks)
{
    struct path_clock *clock = mine;
    while (clock && clock->clocks != clocks)
        clock = clock->next_of_thread;
    if (clock || (!(clock = take_unused(clocks)) && !(clock = make(clocks))))
        return clock;
    clock->next_of_thread = mine;
    mine = clock;
    if (has_key)
        pthread_setspecific(key, clock);
    return clock;
}

/* ---- Work ------------------------------------------------------------------------------------ */

static inline uint64_t units(uint64_t ticks)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)ticks * ticks_scale >> (58 - PATH_CLOCK_BITS));
}

void path_clock_begin(struct path_clocks *clocks, struct path_clock *clock, const void *word,
                      uint64_t entry, bool works)
{
    if (clock->outermost && (uintptr_t)word < (uintptr_t)clock->outermost)
        return;
    if (!clock->since) {
        clock->value = __atomic_load_n(&clocks->value, __ATOMIC_RELAXED);
        clock->since = __atomic_load_n(&clocks->since, __ATOMIC_RELAXED);
    }
    if (works && clock->since && entry > clock->since)
        __atomic_store_n(&clock->value, clock->value + units(entry - clock->since),
                         __ATOMIC_RELAXED);
    __atomic_store_n(&clock->outermost, word, __ATOMIC_RELEASE);
}

void path_clock_end(struct path_clocks *clocks, struct path_clock *clock, const void *word,
                    uint64_t exit)
{
    if (clock->outermost != word)
        return;
    __atomic_store_n(&clock->since, exit, __ATOMIC_RELAXED);
    __atomic_store_n(&clock->outermost, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&clocks->value, clock->value, __ATOMIC_RELAXED);
    __atomic_store_n(&clocks->since, exit, __ATOMIC_RELAXED);
}

void path_clock_restart(struct path_clocks *clocks, struct path_clock *clock, uint64_t now)
{
    __atomic_store_n(&clock->since, now, __ATOMIC_RELAXED);
    __atomic_store_n(&clocks->since, now, __ATOMIC_RELAXED);
}

uint64_t path_clocks_now(const struct path_clocks *clocks, bool works)
{
    const uint64_t now = ticks_now();
    uint64_t most = __atomic_load_n(&clocks->most, __ATOMIC_RELAXED);
    const struct path_clock *clock = __atomic_load_n(&clocks->all, __ATOMIC_ACQUIRE);
    for (; clock; clock = clock->next) {
        const bool outside = !__atomic_load_n(&clock->outermost, __ATOMIC_ACQUIRE);
        const uint64_t since = __atomic_load_n(&clock->since, __ATOMIC_RELAXED);
        uint64_t value = __atomic_load_n(&clock->value, __ATOMIC_RELAXED);
        if (outside && works && since && now > since)
            value += units(now - since);
        most = value > most ? value : most;
    }
    return most;
}
