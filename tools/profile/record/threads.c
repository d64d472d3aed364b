/* SPDX-License-Identifier: MIT */
/* See threads.h. */
#define _GNU_SOURCE
#include "tools/profile/record/threads.h"

#include "toolkit/toolkit.h"
#include "tools/profile/record/processor.h"
#include "tools/profile/record/traits.h"
#include "util/util.h"

#include <string.h>

/* [tool_id]: the lists of the threads' profiles. A profile is added when it is complete, with
 * release order, and the first element is loaded with acquire order. Figures are added with release
 * order (figure_add). Other threads load them with relaxed order, or with acquire order where one
 * figure must not be newer than another. */
static struct thread_profile *threads_by_layer[256];

/* A site with a key that no call has, whatever the depth. */
static struct {
    uint64_t key[1 + PROFILE_DEPTH_MAX];
    struct thread_site site;
} no_call;

const struct thread_site thread_nowhere, thread_unused;

/* Forgets where the last call was made (see outside.h). */
static void forget_last(struct thread_profile *thread)
{
    thread->flights.first.data = (void *)(uintptr_t)&thread_nowhere;
}

/* Forgets the calls in progress of a thread that ends, because the thread that continues its
 * figures is not in these calls. */
static void end_profile_thread(struct thread_level *level)
{
    if (!level->outer)
        processor_end_thread();
    struct thread_row *row = (struct thread_row *)level;
    for (size_t i = 0; i < sizeof row->by_layer / sizeof *row->by_layer; i++) {
        struct thread_profile *thread = row->by_layer[i];
        if (thread) {
            flights_forget(&thread->flights);
            forget_last(thread);
            thread->leavings.count = 0;
        }
    }
}

void threads_start(void)
{
    memset(no_call.key, 0xff, sizeof no_call.key);
    thread_level_start(sizeof(struct thread_row), end_profile_thread);
}

static bool make_table(struct table *table, size_t key_words, size_t row_size)
{
    return table_make_in(table, key_words, row_size, qmpi_memory_take);
}

static void make_recent(struct thread_profile *thread)
{
    for (size_t i = 0; i < sizeof thread->recent / sizeof *thread->recent; i++)
        thread->recent[i] = &no_call.site;
}

static struct thread_profile *make_thread(int depth)
{
    const size_t frames = (size_t)depth;
    struct thread_profile *thread = qmpi_memory_take(sizeof *thread);
    const bool whole = thread &&
                       make_table(&thread->functions, 1, sizeof(struct thread_function_row)) &&
                       make_table(&thread->matrix, 1, sizeof(struct thread_matrix_row)) &&
                       make_table(&thread->comms, 1, sizeof(struct thread_object_row)) &&
                       make_table(&thread->peer_waits, 2, sizeof(struct thread_wait_row)) &&
                       make_table(&thread->files, 1, sizeof(struct thread_object_row)) &&
                       make_table(&thread->sites, 1 + frames, SITE_SIZE(frames));
    if (!whole)
        return NULL;
    thread->interrupts = thread_level_interrupts();
    make_recent(thread);
    forget_last(thread);
    return thread;
}

struct thread_profile *threads_add(int tool_id, int depth)
{
    struct thread_row *row = (struct thread_row *)thread_level_current;
    struct thread_profile *thread = row ? make_thread(depth) : NULL;
    if (!thread) {
        threads_out_of_memory(tool_id);
        return NULL;
    }
    thread->is_deeper = row->level.outer != NULL;
    thread->names_python = python_is_used(tool_id);
    thread->next = __atomic_load_n(&threads_by_layer[tool_id], __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&threads_by_layer[tool_id], &thread->next, thread, true,
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

struct thread_profile *threads_first(int tool_id)
{
    return __atomic_load_n(&threads_by_layer[tool_id], __ATOMIC_ACQUIRE);
}

uint64_t threads_count_calls(int tool_id, int depth)
{
    uint64_t calls = 0;
    for (const struct thread_profile *thread = threads_first(tool_id); thread;
         thread = thread->next) {
        struct table_place place = {0};
        for (uint64_t *its; (its = table_next(&thread->sites, &place));) {
            if (thread_key_function(*its) != MPI_SESSION_FINALIZE_T)
                calls += __atomic_load_n(&thread_site_of(its, (size_t)depth)->stats.calls,
                                         __ATOMIC_ACQUIRE);
        }
    }
    return calls;
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

void thread_stats_add(struct thread_stats *sum, const struct thread_stats *more)
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

/* ---- Call sites ------------------------------------------------------------------------------ */

/* Adds a site. QMPIX_Address_find makes libqmpi remember the library of each address, because the
 * library may be closed before the profile is written. */
static uint64_t *add_thread_site(struct thread_profile *thread, const uint64_t *key, size_t depth)
{
    const char *library;
    size_t offset;
    for (size_t i = 0; i < depth && key[1 + i]; i++) {
        if (!python_find_line(key[1 + i]))
            QMPIX_Address_find((const void *)(uintptr_t)key[1 + i], &library, &offset);
    }
    return table_add(&thread->sites, key);
}

static void describe_site(const struct thread_profile *thread, struct thread_site *site,
                          uint64_t key)
{
    const struct traits *traits = &traits_all[thread_key_function(key)];
    const bool usual = !thread->interrupts && traits->ends_usually && !(key & CALL_APART);
    site->usual = usual ? key & ~(uint64_t)CALL_NUMBER : UINT64_MAX;
    site->end = traits->end;
    site->comm_argument = traits->comm;
}

static struct thread_site *find_site(struct thread_profile *thread, const uint64_t *key,
                                     size_t depth)
{
    uint64_t *row = table_find(&thread->sites, key, 1 + depth);
    if (!row && !(row = add_thread_site(thread, key, depth)))
        return NULL;
    struct thread_site *site = thread_site_of(row, depth);
    const uint64_t function = key[0] & ~(uint64_t)CALL_APART;
    if (__builtin_expect(!site->function, 0)) {
        describe_site(thread, site, key[0]);
        site->places.from = &thread_unused;
        site->place = site->other = &site->places;
        site->function = table_get(&thread->functions, &function, 1);
        if (site->function)
            figure_add(&site->function->times[thread_time_bin(0)], UINT64_MAX);
    }
    return site->function ? site : NULL;
}

struct thread_site *thread_site_find(struct thread_profile *thread, uint64_t key,
                                     const QMPIX_Call *call, int depth)
{
    void *callers[PROFILE_DEPTH_MAX];
    uint64_t words[1 + PROFILE_DEPTH_MAX] = {key};
    const size_t frames = (size_t)depth;
    thread_site_find_callers(call, callers, frames, thread->names_python);
    for (size_t i = 0; i < frames; i++)
        words[1 + i] = (uint64_t)(uintptr_t)callers[i];
    struct thread_site *site = find_site(thread, words, frames);
    if (site && traits_all[thread_key_function(key)].begins_simply && !thread->interrupts)
        *thread_site_recent_place(thread, callers, frames) = site;
    return site;
}

struct thread_site *thread_site_find_same(struct thread_profile *thread, uint64_t key,
                                          const struct thread_site *site, int depth)
{
    const size_t frames = (size_t)depth;
    uint64_t words[1 + PROFILE_DEPTH_MAX] = {key};
    memcpy(words + 1, thread_site_key(site, frames) + 1, frames * sizeof *words);
    return find_site(thread, words, frames);
}
