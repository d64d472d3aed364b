/* SPDX-License-Identifier: MIT */
/*
 * See rank_calls.h: the time outside MPI between two calls, summed up over the threads of this
 * process. For one place in the program, a thread has separate call sites for each set of open
 * regions, and for calls within other calls. This file combines the times of such call sites.
 */
#define _GNU_SOURCE
#include "tools/profile/collect/rank_calls.h"
#include "tools/profile/record/outside.h"
#include "tools/profile/record/regions.h"

#include <stdlib.h>
#include <string.h>

struct outside_sums {
    struct profile_outside *all;
    size_t count, room;
    const struct rank_build *build;
    uint64_t to; /* the key of the site that is being visited */
    bool good;   /* memory has not been exhausted */
};

/* Returns the key of a call site, or 0 if the site is unknown or memory is exhausted. */
static uint64_t find_key(struct outside_sums *sums, const struct thread_site *site)
{
    const size_t depth = (size_t)sums->build->layer->options.depth;
    if (!site || site == &thread_nowhere)
        return 0;
    const uint64_t *words = thread_site_key(site, depth);
    const char *name = QMPIX_Function_name((enum QMPI_Functions_enum)thread_key_function(*words));
    struct profile_frame frames[PROFILE_DEPTH_MAX] = {{.offset = 0}};
    int count = 0;
    sums->good = rank_calls_copy_frames(frames, &count, words, depth) && sums->good;
    const uint64_t key = sums->good ? profile_callsite_key(name ? name : "", frames, count) : 0;
    for (int i = 0; i < count; i++) {
        free(frames[i].module);
        free(frames[i].function);
        free(frames[i].file);
    }
    return key;
}

static void add_time(struct outside_sums *sums, uint64_t from, uint64_t to, uint64_t time)
{
    const double seconds = (double)time * sums->build->tick;
    if (sums->count == sums->room) {
        const size_t room = 2 * sums->room + 16;
        struct profile_outside *all = realloc(sums->all, room * sizeof *all);
        sums->good = sums->good && all;
        if (!all)
            return;
        sums->all = all;
        sums->room = room;
    }
    sums->all[sums->count++] = (struct profile_outside){
        .from = from, .to = to, .time = rank_spread(seconds, sums->build->layer->rank)};
}

static void add_thread_time(void *data, const struct thread_site *from, uint64_t time)
{
    struct outside_sums *sums = data;
    if (from || sums->to)
        add_time(sums, find_key(sums, from), sums->to, time);
}

static void add_sites(struct outside_sums *sums, const struct thread_profile *thread)
{
    const size_t depth = (size_t)sums->build->layer->options.depth;
    struct table_place place = {0};
    for (uint64_t *its; sums->good && (its = table_next(&thread->sites, &place));) {
        const struct thread_site *site = thread_site_of(its, depth);
        sums->to = find_key(sums, site);
        outside_visit(site, add_thread_time, sums);
    }
}

/* Returns the outermost call in progress of a thread, or NULL if none was listed. */
static const struct flight_seen *find_flight(const struct flights_seen *flights,
                                             const struct thread_profile *thread)
{
    for (size_t i = 0; i < flights->count; i++) {
        if (flights->all[i].flight == &thread->flights.first)
            return &flights->all[i];
    }
    return NULL;
}

/* Adds the time since the last call of a thread: until its call in progress began or, if there is
 * none, until the calls in progress were listed. */
static void add_rest(struct outside_sums *sums, const struct thread_profile *thread)
{
    const struct flights_seen *flights = sums->build->flights;
    const struct flight_seen *flight = find_flight(flights, thread);
    const uint64_t ended = __atomic_load_n(&thread->ended, __ATOMIC_RELAXED);
    const uint64_t until = flight ? flight->since - flight->wait : flights->moment;
    const struct thread_site *last = FLIGHT_GET(thread->flights.first.data);
    if (!ended || until <= ended || !last || last == &thread_nowhere)
        return;
    if (!flight)
        add_time(sums, find_key(sums, last), 0, until - ended);
    else if (flight->site && flight->state != FLIGHT_NOTED && flight->site->place)
        add_time(sums, find_key(sums, flight->site->place->from), find_key(sums, flight->site),
                 until - ended);
}

static int compare_keys(const void *a, const void *b)
{
    const struct profile_outside *mine = a, *its = b;
    if (mine->from != its->from)
        return mine->from < its->from ? -1 : 1;
    return (mine->to > its->to) - (mine->to < its->to);
}

static int compare_times(const void *a, const void *b)
{
    const struct profile_outside *mine = a, *its = b;
    return (mine->time.sum < its->time.sum) - (mine->time.sum > its->time.sum);
}

static void sort_sums(struct outside_sums *sums, int (*compare)(const void *, const void *))
{
    if (sums->count > 1)
        qsort(sums->all, sums->count, sizeof *sums->all, compare);
}

/* Combines the elements that have the same two call sites. */
static void combine(struct outside_sums *sums)
{
    size_t combined = 0;
    sort_sums(sums, compare_keys);
    for (size_t i = 0; i < sums->count; i++) {
        struct profile_outside *last = combined ? &sums->all[combined - 1] : NULL;
        if (last && !compare_keys(last, &sums->all[i]))
            last->time =
                rank_spread(last->time.sum + sums->all[i].time.sum, sums->build->layer->rank);
        else
            sums->all[combined++] = sums->all[i];
    }
    sums->count = combined;
}

/* Keeps the elements that take most time. */
static void choose(struct outside_sums *sums)
{
    const struct layer_regions *regions = &sums->build->layer->regions;
    const uint64_t application = regions_time(regions, sums->build->flights->moment);
    const double least = PROFILE_DEVIATION * (double)application * sums->build->tick;
    size_t kept = 0;
    sort_sums(sums, compare_times);
    while (kept < sums->count && kept < PROFILE_OUTSIDE_MOST && sums->all[kept].time.sum >= least &&
           sums->all[kept].time.sum > 0)
        kept++;
    sums->count = kept;
}

bool rank_build_outside(const struct rank_build *build)
{
    const struct layer *layer = build->layer;
    const bool goes_on = build->result->termination && regions_are_on(&layer->regions) &&
                         regions_have_begun(&layer->regions);
    struct outside_sums sums = {.build = build, .good = true};
    for (const struct thread_profile *thread = threads_first(layer->tool_id); thread && sums.good;
         thread = thread->next) {
        add_sites(&sums, thread);
        if (goes_on && !thread->interrupts)
            add_rest(&sums, thread);
    }
    combine(&sums);
    choose(&sums);
    build->result->outside = sums.all;
    build->result->outside_count = sums.count;
    return sums.good;
}
