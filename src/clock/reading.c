/* SPDX-License-Identifier: MIT */
/* See reading.h. */
#define _GNU_SOURCE
#include "clock/reading.h"

#include "config/config.h"
#include "util/util.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char variable[] = "QMPI_CLOCK";

bool qmpi_clock_is_counter;

QMPI_LOCK(lock);
static bool started;
static struct qmpi_clock_moment beginning;
enum { SCALE_BITS = 48 }; /* of days, they leave an error of less than a nanosecond */
static uint64_t scale = UINT64_C(1) << SCALE_BITS; /* nanoseconds per tick */
static uint64_t calibrated = UINT64_MAX; /* ticks: the time from which it was determined */

/* ---- Readings -------------------------------------------------------------------------------- */

uint64_t qmpi_clock_monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Of several tries the one that was interrupted least. */
static struct qmpi_clock_moment both_clocks(void)
{
    struct qmpi_clock_moment best = {.width = UINT64_MAX};
    for (int i = 0; i < 5; i++) {
        const uint64_t before = qmpi_clock_now();
        const uint64_t nanoseconds = qmpi_clock_monotonic();
        const uint64_t width = qmpi_clock_now() - before;
        if (width < best.width)
            best = (struct qmpi_clock_moment){before + width / 2, nanoseconds, width};
    }
    return best;
}

/* Spins until so long after the start: shorter times of two clocks say little of their rates. */
static struct qmpi_clock_moment moment_after(uint64_t nanoseconds)
{
    while (qmpi_clock_monotonic() - beginning.nanoseconds < nanoseconds)
        ;
    return both_clocks();
}

static struct qmpi_clock_tick measure_tick(uint64_t nanoseconds)
{
    if (!qmpi_clock_is_counter)
        return (struct qmpi_clock_tick){.nanoseconds = 1};
    const struct qmpi_clock_moment now = moment_after(nanoseconds);
    const double ticks = (double)(now.ticks - beginning.ticks);
    const struct qmpi_clock_tick tick = {
        .nanoseconds = (double)(now.nanoseconds - beginning.nanoseconds) / ticks,
        .error = (double)(now.width + beginning.width) / ticks};
    __atomic_store_n(&scale, (uint64_t)(tick.nanoseconds * (double)(UINT64_C(1) << SCALE_BITS)),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&calibrated, now.ticks - beginning.ticks, __ATOMIC_RELAXED);
    return tick;
}

/* ---- Starting -------------------------------------------------------------------------------- */

/* What the variable asks for, of what there is. */
static bool use_counter(void)
{
    const char *value = qmpi_setting(variable);
    return QMPI_HAS_COUNTER && !(value && !strcmp(value, "monotonic")) &&
           qmpi_counter_is_invariant();
}

void qmpi_clock_configure(void)
{
    const char *value = qmpi_setting(variable);
    if (!value || !strcmp(value, "monotonic") || !qmpi_is_reporting_process())
        return;
    if (strcmp(value, "tsc") != 0) {
        char *shown = qmpi_shorten(value);
        qmpi_printf("%s: unknown value '%s'; using the default\n"
                    "  hint: set it to tsc or monotonic",
                    variable, shown);
        free(shown);
    } else if (!use_counter()) {
        qmpi_printf("%s: this machine has no cycle counter of constant rate; using monotonic\n"
                    "  hint: unset it, or set it to monotonic",
                    variable);
    }
}

/* No handler of this thread can run while it has the lock: a handler may wait for it. */
void qmpi_clock_start(void)
{
    sigset_t all, previous;
    if (qmpi_clock_has_started())
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    pthread_mutex_lock(&lock);
    if (!started) {
        qmpi_clock_is_counter = use_counter();
        if (qmpi_clock_is_counter) {
            beginning = both_clocks();
            measure_tick(20000);
        } else {
            beginning.ticks = beginning.nanoseconds = qmpi_clock_monotonic();
        }
        __atomic_store_n(&started, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
}

bool qmpi_clock_has_started(void)
{
    return __atomic_load_n(&started, __ATOMIC_ACQUIRE);
}

/* ---- Conversion ------------------------------------------------------------------------------ */

struct qmpi_clock_moment qmpi_clock_started_at(void)
{
    return beginning;
}

struct qmpi_clock_tick qmpi_clock_refine(void)
{
    return measure_tick(1000000);
}

uint64_t qmpi_clock_nanoseconds(uint64_t ticks)
{
    __extension__ typedef unsigned __int128 wide;
    if (ticks / 2 > __atomic_load_n(&calibrated, __ATOMIC_RELAXED))
        measure_tick(0);
    return (uint64_t)((wide)ticks * __atomic_load_n(&scale, __ATOMIC_RELAXED) >> SCALE_BITS);
}
