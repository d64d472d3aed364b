/* SPDX-License-Identifier: MIT */
/* See unfinished.h. */
#define _GNU_SOURCE
#include "tools/log/unfinished.h"

#include "toolkit/toolkit.h"
#include "tools/log/line.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Stuck calls ----------------------------------------------------------------------------- */

/* Each call is reported once. If its final line follows later, that line begins with three dots. */
static void report_stuck_calls(struct layer *layer)
{
    struct frame *frame = NULL;
    const uint64_t now = line_now();
    while ((frame = frames_next(layer, frame))) {
        if (frame->begin < now && now - frame->begin >= layer->options.stuck &&
            !atomic_exchange(&frame->is_reported, true)) {
            atomic_store(&frame->is_announced, true);
            line_unfinished(frame, now, true);
        }
    }
}

static void *run_search(void *data)
{
    struct layer *layer = data;
    struct layer_search *search = &layer->search;
    uint64_t step = layer->options.stuck / 4;
    struct qmpi_arithmetic ignored;
    /* The new thread inherits the floating-point environment, which the program may have
     * changed. */
    qmpi_arithmetic_begin(&ignored);
    if (step > 1000000000U)
        step = 1000000000U;
    pthread_mutex_lock(&search->lock);
    while (!search->stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        const uint64_t nanoseconds = (uint64_t)until.tv_nsec + step;
        until.tv_sec += (time_t)(nanoseconds / 1000000000U);
        until.tv_nsec = (long)(nanoseconds % 1000000000U);
        pthread_cond_timedwait(&search->changed, &search->lock, &until);
        pthread_mutex_unlock(&search->lock);
        if (!atomic_load(&layer->is_quiet))
            report_stuck_calls(layer);
        pthread_mutex_lock(&search->lock);
    }
    pthread_mutex_unlock(&search->lock);
    return NULL;
}

void unfinished_search_start(struct layer *layer)
{
    struct layer_search *search = &layer->search;
    pthread_condattr_t clock;
    sigset_t all, before;
    if (!layer->options.stuck || atomic_exchange(&search->runs, true))
        return;
    search->stop = false;
    pthread_mutex_init(&search->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&search->changed, &clock);
    pthread_condattr_destroy(&clock);
    /* The new thread must not handle signals that are meant for the program. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&search->thread, NULL, run_search, layer))
        atomic_store(&search->runs, false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void unfinished_search_stop(struct layer *layer)
{
    struct layer_search *search = &layer->search;
    if (log_owner != getpid() || !atomic_exchange(&search->runs, false))
        return;
    pthread_mutex_lock(&search->lock);
    search->stop = true;
    pthread_cond_signal(&search->changed);
    pthread_mutex_unlock(&search->lock);
    pthread_join(search->thread, NULL);
    pthread_cond_destroy(&search->changed);
    pthread_mutex_destroy(&search->lock);
}

/* ---- The end of the process ------------------------------------------------------------------ */

static void print_process_end(struct layer *layer, const char *cause, const struct frame *except,
                              bool may_print)
{
    struct frame *frame = NULL;
    const uint64_t now = line_now();
    while ((frame = frames_next(layer, frame))) {
        if (frame != except) {
            line_unfinished(frame, now, may_print);
            sink_call_close(&layer->sink, frame->call);
        }
    }
    line_process_end(layer, cause, may_print);
}

/* A process that has not initialized MPI and has no calls in progress, for example because it only
 * asked for the version of MPI, needs no line about its end. */
void unfinished_print(const char *cause, const struct frame *except, bool may_print)
{
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        const bool begun = atomic_load(&layer->begun) || frames_next(layer, NULL);
        if (begun && !atomic_exchange(&layer->ended, true) && !atomic_load(&layer->is_quiet))
            print_process_end(layer, cause, except, may_print);
        sink_set_phase(&layer->sink, PHASE_OVER, NULL);
    }
}

/* ---- Signals --------------------------------------------------------------------------------- */

static bool all_ended(void)
{
    bool all = true;
    for (const struct layer *layer = layer_list; layer; layer = layer->next)
        all = all && atomic_load(&layer->ended);
    return all;
}

static bool wants_log_signals(void)
{
    return log_owner == getpid() && !all_ended();
}

static void on_fatal_signal(int number, const char *name)
{
    char cause[32] = "signal ";
    (void)number;
    strncat(cause, name, sizeof cause - 8);
    unfinished_print(cause, NULL, false);
}

void unfinished_watch_signals(void)
{
    static const struct tool_end_signals user = {wants_log_signals, on_fatal_signal};
    tool_end_watch_signals(&user);
}

void unfinished_unwatch_signals(void)
{
    if (all_ended())
        tool_end_unwatch_signals();
}

/* ---- Exit ------------------------------------------------------------------------------------ */

static void report_exit(void)
{
    if (log_owner != getpid())
        return; /* The calls belong to the parent of this forked child. */
    for (struct layer *layer = layer_list; layer; layer = layer->next)
        unfinished_search_stop(layer);
    unfinished_print("exit without MPI_Finalize", NULL, true);
    for (struct layer *layer = layer_list; layer; layer = layer->next)
        sink_flush(&layer->sink);
    unfinished_unwatch_signals();
    line_end_callers();
}

/* The end is reported after all destructors, because a destructor of one of the program's libraries
 * may still call MPI_Finalize. */
__attribute__((destructor)) static void report_exit_after_destructors(void)
{
    tool_end_after_destructors(report_exit);
}
