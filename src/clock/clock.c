/* SPDX-License-Identifier: MIT */
/* See clock.h. */
#define _GNU_SOURCE
#include "clock/clock.h"

#include "config/config.h"
#include "util/util.h"

#include <qmpi/clock.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char variable[] = "QMPI_CLOCK";

bool qmpi_clock_is_counter;

QMPI_LOCK(start_lock);
/* Stored with release order, after `beginning`, `qmpi_clock_is_counter` and the rate. A thread that
 * has loaded true with acquire order may read these. */
static bool started;
static struct qmpi_clock_moment beginning;
enum { SCALE_BITS = 48 }; /* rounding changes a time by about 1 ns per day */
/* `scale`: nanoseconds per tick, with SCALE_BITS binary places; `calibrated`: the length in ticks
 * of the interval over which this rate was measured (UINT64_MAX: a tick is 1 ns, and is never
 * measured). Any thread may measure the rate again.
 * `calibrated` is stored last, with release order, and loaded first, with acquire order, so that a
 * thread that finds a long interval also finds its precise rate. */
static uint64_t scale = UINT64_C(1) << SCALE_BITS;
static uint64_t calibrated = UINT64_MAX;

/* ---- Readings -------------------------------------------------------------------------------- */

uint64_t qmpi_clock_monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Takes several readings and returns the one that was interrupted least. */
static struct qmpi_clock_moment read_both_clocks(void)
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

/* Waits until the given time after the start has passed, because a measurement over a shorter time
 * would be too inaccurate. Then reads both clocks. */
static struct qmpi_clock_moment read_moment_after(uint64_t nanoseconds)
{
    while (qmpi_clock_monotonic() - beginning.nanoseconds < nanoseconds)
        ;
    return read_both_clocks();
}

QMPI_COMPUTES static struct qmpi_clock_tick compute_tick(const struct qmpi_clock_moment *now)
{
    const double ticks = (double)(now->ticks - beginning.ticks);
    const struct qmpi_clock_tick tick = {
        .nanoseconds = (double)(now->nanoseconds - beginning.nanoseconds) / ticks,
        .error = (double)(now->width + beginning.width) / ticks};
    __atomic_store_n(&scale, (uint64_t)(tick.nanoseconds * (double)(UINT64_C(1) << SCALE_BITS)),
                     __ATOMIC_RELAXED);
    return tick;
}

static struct qmpi_clock_tick measure_tick(uint64_t nanoseconds)
{
    struct qmpi_arithmetic before;
    if (!qmpi_clock_is_counter)
        return (struct qmpi_clock_tick){.nanoseconds = 1};
    const struct qmpi_clock_moment now = read_moment_after(nanoseconds);
    qmpi_arithmetic_begin(&before);
    const struct qmpi_clock_tick tick = compute_tick(&now);
    qmpi_arithmetic_end(&before);
    __atomic_store_n(&calibrated, now.ticks - beginning.ticks, __ATOMIC_RELEASE);
    return tick;
}

/* ---- Starting -------------------------------------------------------------------------------- */

/* Whether the counter is available and QMPI_CLOCK does not exclude it. */
static bool shall_use_counter(void)
{
    const char *value = qmpi_setting(variable);
    return QMPI_HAS_COUNTER && !(value && !strcmp(value, "monotonic")) &&
           qmpi_counter_is_invariant();
}

void qmpi_clock_configure(void)
{
    const char *value = qmpi_setting(variable);
    if (!value || !strcmp(value, "monotonic") || !qmpi_launcher_reports())
        return;
    if (strcmp(value, "tsc") != 0) {
        char *shown = qmpi_message_shorten(value);
        qmpi_printf("%s: unknown value '%s'; using the default\n"
                    "  hint: set it to tsc or monotonic",
                    variable, shown);
        free(shown);
    } else if (!shall_use_counter()) {
        qmpi_printf("%s: this machine has no cycle counter of constant rate; using monotonic\n"
                    "  hint: unset it, or set it to monotonic",
                    variable);
    }
}

/* Blocks signals while it holds the lock, because a signal handler may need the lock, too. */
void qmpi_clock_start(void)
{
    sigset_t all, previous;
    if (qmpi_clock_has_started())
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    pthread_mutex_lock(&start_lock);
    if (!started) {
        qmpi_clock_is_counter = shall_use_counter();
        if (qmpi_clock_is_counter) {
            beginning = read_both_clocks();
            measure_tick(20000);
        } else {
            beginning.ticks = beginning.nanoseconds = qmpi_clock_monotonic();
        }
        __atomic_store_n(&started, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&start_lock);
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
    if (ticks / 2 > __atomic_load_n(&calibrated, __ATOMIC_ACQUIRE))
        measure_tick(0);
    return (uint64_t)((wide)ticks * __atomic_load_n(&scale, __ATOMIC_RELAXED) >> SCALE_BITS);
}

/* ---- Public calls ---------------------------------------------------------------------------- */

int QMPIX_Clock_get_time(uint64_t *ticks)
{
    if (!ticks)
        return MPI_ERR_ARG;
    qmpi_clock_start();
    *ticks = qmpi_clock_now();
    return MPI_SUCCESS;
}

int QMPIX_Clock_to_nanoseconds(uint64_t ticks, uint64_t *nanoseconds)
{
    if (!nanoseconds)
        return MPI_ERR_ARG;
    qmpi_clock_start();
    *nanoseconds = qmpi_clock_nanoseconds(ticks);
    return MPI_SUCCESS;
}

static double find_resolution(double tick)
{
    struct timespec time = {0, 0};
    if (qmpi_clock_is_counter)
        return tick;
    clock_getres(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Returns the mean duration of a reading in ticks, from the fastest of several tries. */
static double measure_cost(void)
{
    enum { TRIES = 5, READINGS = 100 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t begin = qmpi_clock_now();
        uint64_t end = begin;
        for (int k = 0; k < READINGS; k++)
            end = qmpi_clock_now();
        if (end - begin < least)
            least = end - begin;
    }
    return (double)least / READINGS;
}

QMPI_COMPUTES static void compute_info(QMPIX_Clock_info *info)
{
    const struct qmpi_clock_tick tick = qmpi_clock_refine();
    info->tick = tick.nanoseconds;
    info->resolution = find_resolution(tick.nanoseconds);
    info->cost = measure_cost() * tick.nanoseconds;
}

int QMPIX_Clock_get_info(QMPIX_Clock_info *info)
{
    struct qmpi_arithmetic before;
    if (!info || info->size < sizeof *info)
        return MPI_ERR_ARG;
    qmpi_clock_start();
    info->name = qmpi_clock_is_counter ? "tsc" : "monotonic";
    qmpi_arithmetic_begin(&before);
    compute_info(info);
    qmpi_arithmetic_end(&before);
    return MPI_SUCCESS;
}
