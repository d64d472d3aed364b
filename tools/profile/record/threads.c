/* SPDX-License-Identifier: MIT */
/* See threads.h. */
#define _GNU_SOURCE
#include "record/threads.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <string.h>

static struct thread *all[256]; /* [tool_id] */

/* No call's: a key of any depth. */
static struct {
    uint64_t key[1 + PROFILE_DEPTH_MAX];
    struct site site;
} none;

/* Those that the thread that ends was in: the next one is in none of them. */
static void forget_calls(struct thread_level *level)
{
    struct thread_row *row = (struct thread_row *)level;
    for (size_t i = 0; i < sizeof row->by_layer / sizeof *row->by_layer; i++) {
        struct thread *thread = row->by_layer[i];
        if (thread) {
            flights_forget(&thread->flights);
            thread->leavings.count = 0;
        }
    }
}

void threads_start(void)
{
    memset(none.key, 0xff, sizeof none.key);
    thread_level_start(sizeof(struct thread_row), forget_calls);
}

static bool make_table(struct table *table, size_t key_words, size_t row_size)
{
    return table_make_in(table, key_words, row_size, qmpi_arena_take);
}

static void make_recent(struct thread *thread)
{
    for (size_t i = 0; i < sizeof thread->recent / sizeof *thread->recent; i++)
        thread->recent[i] = &none.site;
}

static struct thread *make_thread(int depth)
{
    const size_t frames = (size_t)depth;
    struct thread *thread = qmpi_arena_take(sizeof *thread);
    const bool whole = thread && make_table(&thread->functions, 1, sizeof(struct function_row)) &&
                       make_table(&thread->matrix, 1, sizeof(struct matrix_row)) &&
                       make_table(&thread->comms, 1, sizeof(struct numbered_row)) &&
                       make_table(&thread->peer_waits, 2, sizeof(struct peer_wait_row)) &&
                       make_table(&thread->files, 1, sizeof(struct numbered_row)) &&
                       make_table(&thread->sites, 1 + frames, SITE_SIZE(frames));
    if (!whole)
        return NULL;
    thread->interrupts = thread_level_interrupts();
    make_recent(thread);
    return thread;
}

struct thread *threads_add(int tool_id, int depth)
{
    struct thread_row *row = (struct thread_row *)thread_level_current;
    struct thread *thread = row ? make_thread(depth) : NULL;
    if (!thread) {
        threads_out_of_memory(tool_id);
        return NULL;
    }
    thread->is_deeper = row->level.outer != NULL;
    thread->next = __atomic_load_n(&all[tool_id], __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all[tool_id], &thread->next, thread, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        continue;
    row->by_layer[tool_id] = thread;
    return thread;
}

void threads_out_of_memory(int tool_id)
{
    static int said;
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        qmpi_printf("profile (layer %d): out of memory: some calls are missing from the profile",
                    tool_id);
}

struct thread *threads_first(int tool_id)
{
    return __atomic_load_n(&all[tool_id], __ATOMIC_ACQUIRE);
}

static inline uint64_t add_LEAST(uint64_t mine, uint64_t its, bool first)
{
    return first || its < mine ? its : mine;
}

static inline uint64_t add_GREATEST(uint64_t mine, uint64_t its, bool first)
{
    return first || its > mine ? its : mine;
}

static inline uint64_t add_TOTAL(uint64_t mine, uint64_t its, bool first)
{
    return first ? its : mine + its;
}

#define ADD_FIGURE(NAME, UNIT, COMBINE, HEADING, SINCE)                                            \
    sum->NAME = add_##COMBINE(sum->NAME, __atomic_load_n(&more->NAME, __ATOMIC_ACQUIRE), first);

void stats_add(struct stats *sum, const struct stats *more)
{
    const uint64_t calls = __atomic_load_n(&more->calls, __ATOMIC_ACQUIRE);
    const bool first = !sum->calls;
    if (calls) {
        PROFILE_FIGURES(ADD_FIGURE)
    }
    sum->calls += calls;
    sum->time += __atomic_load_n(&more->time, __ATOMIC_ACQUIRE);
    sum->wait += __atomic_load_n(&more->wait, __ATOMIC_ACQUIRE);
    sum->sent += __atomic_load_n(&more->sent, __ATOMIC_ACQUIRE);
    sum->received += __atomic_load_n(&more->received, __ATOMIC_ACQUIRE);
}
