/* SPDX-License-Identifier: MIT */
/* See busy_wait.h. */
#define _GNU_SOURCE
#include "busy_wait.h"

#include "random.h"

#include <qmpi/clock.h>

#include <time.h>

enum { SECOND = 1000000000 };

static uint64_t now(void)
{
    uint64_t ticks = 0;
    QMPIX_Clock_get_time(&ticks);
    return ticks;
}

static uint64_t nanoseconds_between(uint64_t begin, uint64_t end)
{
    uint64_t nanoseconds = 0;
    QMPIX_Clock_to_nanoseconds(end - begin, &nanoseconds);
    return nanoseconds;
}

void spend(struct rule *rule, uint64_t nanoseconds)
{
    if (!nanoseconds)
        return;
    const uint64_t start = now();
    uint64_t spent = 0;
    while (spent < nanoseconds) {
        const uint64_t rest = nanoseconds - spent;
        const struct timespec time = {.tv_sec = (time_t)(rest / SECOND),
                                      .tv_nsec = (long)(rest % SECOND)};
        if (rule->sleeps)
            nanosleep(&time, NULL);
        spent = nanoseconds_between(start, now());
    }
    __atomic_add_fetch(&rule->nanoseconds, spent, __ATOMIC_RELAXED);
}

/* When this thread last left an MPI call, in ticks, as each layer saw it; 0: it has not been in
 * one. */
static _Thread_local uint64_t left[256];

/* Numbers for the moments of detours and for their lengths, apart from those of the calls. */
enum { MOMENTS = 1, LENGTHS = 2 };

/* Of so many detours at once the mean will do. */
enum { MANY = 10000 };

static double draw(const struct rule *rule, uint64_t what, uint64_t which)
{
    const uint64_t rank = (uint64_t)__atomic_load_n(&rule->rank, __ATOMIC_RELAXED);
    const uint64_t hash = chance_mix(chance_mix(rule->seed, ~rank), rule->stream);
    return chance_real(chance_mix(hash, what), which);
}

/* How many detours there are from one moment of computing to another: one in each period, at its
 * moment. Periods of different ranks begin at different times. */
static uint64_t detours_between(const struct rule *rule, uint64_t from, uint64_t to)
{
    const uint64_t period = rule->period, first = from / period, last = to / period;
    const double at_last = draw(rule, MOMENTS, rule->random_moment ? last : 0);
    const double at_first =
        rule->random_moment && first != last ? draw(rule, MOMENTS, first) : at_last;
    return last + ((double)(to % period) >= at_last * (double)period) - first -
           ((double)(from % period) >= at_first * (double)period);
}

void spend_noise(struct rule *rule)
{
    const uint64_t since = left[rule->tool_id];
    if (!since)
        return;
    const uint64_t until = now();
    const uint64_t computed = nanoseconds_between(since, until);
    const uint64_t end = __atomic_add_fetch(&rule->computed, computed, __ATOMIC_RELAXED);
    const uint64_t detours = detours_between(rule, end - computed, end);
    const uint64_t first = __atomic_fetch_add(&rule->detours, detours, __ATOMIC_RELAXED);
    uint64_t total = 0;
    if (rule->detour.law == DURATION_FIXED || detours > MANY)
        total = detours * (rule->detour.least + (rule->detour.most - rule->detour.least) / 2);
    else
        for (uint64_t i = 0; i < detours; i++)
            total += duration_draw(&rule->detour, draw(rule, LENGTHS, first + i));
    left[rule->tool_id] = until; /* a call in a call counts no time twice */
    spend(rule, total);
}

void spend_leave(struct rule *rule)
{
    left[rule->tool_id] = now();
}
