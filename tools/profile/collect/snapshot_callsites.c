/* SPDX-License-Identifier: MIT */
/* See snapshot_parts.h: call sites. */
#define _GNU_SOURCE
#include "collect/snapshot_parts.h"

#include "profile/profile.h"
#include "record/traits.h"

#include <stdlib.h>
#include <string.h>

/* The sum over all keys of calls of the function. NULL: memory is out. */
static struct site *sum_of(struct table *sum, const uint64_t *key, size_t depth)
{
    uint64_t words[1 + PROFILE_DEPTH_MAX] = {(uint64_t)call_key_number(key[0])};
    memcpy(words + 1, key + 1, depth * sizeof *words);
    uint64_t *row = table_get(sum, words, 1 + depth);
    return row ? site_of(row, depth) : NULL;
}

static bool add_thread(struct table *sum, const struct thread *thread, size_t depth)
{
    struct table_place place = {0};
    for (uint64_t *its; (its = table_next(&thread->sites, &place));) {
        struct site *site = sum_of(sum, its, depth);
        if (!site)
            return false;
        stats_add(&site->stats, &site_of(its, depth)->stats);
        site->more_messages +=
            __atomic_load_n(&site_of(its, depth)->more_messages, __ATOMIC_RELAXED);
    }
    return true;
}

/* A call that is being noted meanwhile may be in one of the two. */
static uint64_t count_messages(const struct site *site, uint64_t function)
{
    const uint64_t messages =
        site->stats.calls * traits_messages(&traits_all[function]) + site->more_messages;
    return (int64_t)messages < 0 ? 0 : messages;
}

static bool add_flights(struct table *sum, const struct flights_seen *flights, size_t depth)
{
    for (size_t i = 0; i < flights->count; i++) {
        const struct flight_seen *flight = &flights->all[i];
        struct stats stats;
        if (!flight->site || !flight_stats(flight, &stats))
            continue;
        struct site *site = sum_of(sum, site_key(flight->site, depth), depth);
        if (!site)
            return false;
        stats_add(&site->stats, &stats);
    }
    return true;
}

bool build_frames(struct profile_frame *frames, int *count, const uint64_t *key, size_t depth)
{
    for (size_t i = 0; i < depth && (key[1 + i] || i == 0); i++) {
        struct profile_frame *frame = &frames[(*count)++];
        const char *library = "";
        size_t offset = key[1 + i];
        QMPIX_Address_find((const void *)(uintptr_t)key[1 + i], &library, &offset);
        frame->offset = offset;
        frame->module = strdup(library);
        if (!frame->module)
            return false;
    }
    return true;
}

/* ---- Waiting for peers ----------------------------------------------------------------------- */

/* What all threads waited for a peer at the call site of a row. */
struct wait_sum {
    const uint64_t *row;
    int peer;
    uint64_t calls, time;
};
struct wait_sums {
    struct wait_sum *all;
    size_t count;
};

static int compare_sums(const void *a, const void *b)
{
    const struct wait_sum *mine = a, *its = b;
    const uintptr_t my_row = (uintptr_t)mine->row, its_row = (uintptr_t)its->row;
    return (my_row > its_row) - (my_row < its_row);
}

static void add_wait(struct wait_sums *waits, struct table *sum, size_t depth,
                     const struct peer_wait_row *its)
{
    const struct site *site = (const struct site *)(uintptr_t)its->key[0];
    uint64_t words[1 + PROFILE_DEPTH_MAX];
    memcpy(words, site_key(site, depth), (1 + depth) * sizeof *words);
    words[0] = (uint64_t)call_key_number(words[0]);
    waits->all[waits->count++] = (struct wait_sum){
        .row = table_find(sum, words, 1 + depth),
        .peer = (int)(int64_t)its->key[1],
        .calls = __atomic_load_n(&its->calls, __ATOMIC_RELAXED),
        .time = __atomic_load_n(&its->time, __ATOMIC_RELAXED),
    };
}

/* Those of all threads; rows that are added meanwhile are left out. False: memory is out. */
static bool sum_waits(struct wait_sums *waits, const struct layer *layer, struct table *sum)
{
    size_t room = 1;
    for (const struct thread *thread = threads_first(layer->tool_id); thread; thread = thread->next)
        room += thread->peer_waits.count;
    *waits = (struct wait_sums){calloc(room, sizeof *waits->all), 0};
    for (const struct thread *thread = threads_first(layer->tool_id); waits->all && thread;
         thread = thread->next) {
        struct table_place place = {0};
        for (const struct peer_wait_row *its;
             waits->count < room && (its = table_next(&thread->peer_waits, &place));)
            add_wait(waits, sum, (size_t)layer->options.depth, its);
    }
    if (waits->count > 1)
        qsort(waits->all, waits->count, sizeof *waits->all, compare_sums);
    return waits->all != NULL;
}

static bool fill_waits(struct profile_callsite *callsite, const struct wait_sums *waits,
                       const uint64_t *row, double tick, int rank)
{
    const struct wait_sum key = {.row = row};
    const struct wait_sum *found =
        waits->count ? bsearch(&key, waits->all, waits->count, sizeof key, compare_sums) : NULL;
    const struct wait_sum *const end = waits->all + waits->count;
    while (found && found > waits->all && found[-1].row == row)
        found--;
    for (; found && found < end && found->row == row; found++) {
        struct profile_wait wait = {rank, found->peer, found->calls, (double)found->time * tick};
        const struct profile_waits more = {&wait, 1};
        if (!merge_prepare_waits(&callsite->waits, &more))
            return false;
        merge_waits(&callsite->waits, &more, true);
    }
    return true;
}

/* ---- Call sites ------------------------------------------------------------------------------ */

static bool fill(struct profile_callsite *callsite, uint64_t *site, size_t depth, double tick,
                 int rank)
{
    const char *name = QMPIX_Function_name((enum QMPI_Functions_enum)site[0]);
    callsite->name = strdup(name ? name : "");
    callsite->frames = calloc(depth, sizeof *callsite->frames);
    callsite->ranks = 1;
    callsite->messages = count_messages(site_of(site, depth), site[0]);
    build_calls(&callsite->calls, &site_of(site, depth)->stats, tick, rank);
    return callsite->name && callsite->frames &&
           build_frames(callsite->frames, &callsite->frame_count, site, depth);
}

/* ---- One place that was seen at two addresses: its module was loaded again ------------------- */

/* Both are of this rank: what is merged as of two is of one. */
static void add_same(struct profile_callsite *into, struct profile_callsite *from)
{
    const struct sides sides = {.mine = {.ranks = 1}, .its = {.ranks = 1}};
    const int rank = into->calls.time.min_rank;
    into->messages += from->messages;
    if (merge_prepare_waits(&into->waits, &from->waits))
        merge_waits(&into->waits, &from->waits, true);
    merge_calls(&into->calls, &from->calls, &sides);
    into->calls.time = build_spread(into->calls.time.sum, rank);
    into->calls.wait = build_spread(into->calls.wait.sum, rank);
    profile_callsite_clear(from);
}

static void combine_same(struct profile_result *result)
{
    struct profile_callsite *all = result->callsites;
    size_t saved = 0;
    qsort(all, result->callsite_count, sizeof *all, merge_callsites.compare);
    for (size_t i = 0; i < result->callsite_count; i++) {
        if (saved && !merge_callsites.compare(&all[saved - 1], &all[i]))
            add_same(&all[saved - 1], &all[i]);
        else
            all[saved++] = all[i];
    }
    result->callsite_count = saved;
}

/* A place that was noted when a call began has none while the call is not noted itself. */
bool build_callsites(struct profile_result *result, const struct layer *layer,
                     const struct flights_seen *flights, double tick)
{
    const size_t depth = (size_t)layer->options.depth;
    struct table sum = {0};
    struct table_place place = {0};
    struct wait_sums waits = {NULL, 0};
    bool good = table_make(&sum, 1 + depth, SITE_SIZE(depth));
    for (const struct thread *thread = threads_first(layer->tool_id); good && thread;
         thread = thread->next)
        good = add_thread(&sum, thread, depth);
    good = good && add_flights(&sum, flights, depth);
    result->callsites = good ? calloc(sum.count + 1, sizeof *result->callsites) : NULL;
    good = result->callsites != NULL;
    good = good && sum_waits(&waits, layer, &sum);
    for (uint64_t *site; good && (site = table_next(&sum, &place));) {
        struct profile_callsite *callsite = &result->callsites[result->callsite_count];
        if (!site_of(site, depth)->stats.calls)
            continue;
        result->callsite_count++;
        good = fill(callsite, site, depth, tick, layer->rank) &&
               fill_waits(callsite, &waits, site, tick, layer->rank);
    }
    free(waits.all);
    if (good)
        combine_same(result);
    table_free(&sum);
    return good;
}
