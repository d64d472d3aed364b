/* SPDX-License-Identifier: MIT */
/* See stuck.h. */
#define _GNU_SOURCE
#include "stuck.h"

#include "frames.h"
#include "line.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Said once of each call: then its line, if it comes, begins with three dots. */
static void look(struct layer *layer)
{
    struct frame *frame = NULL;
    const uint64_t now = line_now();
    while ((frame = frames_next(frame))) {
        if (frame->layer == layer && atomic_load(&frame->turn) & 1 && frame->begin < now &&
            now - frame->begin >= layer->options.stuck && !atomic_exchange(&frame->stuck, true)) {
            atomic_store(&frame->announced, true);
            line_unfinished(frame, now, true);
        }
    }
}

static void *run(void *data)
{
    struct layer *layer = data;
    struct stuck *stuck = &layer->stuck;
    uint64_t step = layer->options.stuck / 4;
    if (step > 1000000000U)
        step = 1000000000U;
    pthread_mutex_lock(&stuck->lock);
    while (!stuck->stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        const uint64_t nanoseconds = (uint64_t)until.tv_nsec + step;
        until.tv_sec += (time_t)(nanoseconds / 1000000000U);
        until.tv_nsec = (long)(nanoseconds % 1000000000U);
        pthread_cond_timedwait(&stuck->changed, &stuck->lock, &until);
        pthread_mutex_unlock(&stuck->lock);
        if (!atomic_load(&layer->is_quiet))
            look(layer);
        pthread_mutex_lock(&stuck->lock);
    }
    pthread_mutex_unlock(&stuck->lock);
    return NULL;
}

void stuck_start(struct layer *layer)
{
    struct stuck *stuck = &layer->stuck;
    pthread_condattr_t clock;
    sigset_t all, before;
    if (!layer->options.stuck || atomic_exchange(&stuck->runs, true))
        return;
    stuck->stop = false;
    pthread_mutex_init(&stuck->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&stuck->changed, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all); /* signals are the program's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&stuck->thread, NULL, run, layer))
        atomic_store(&stuck->runs, false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void stuck_stop(struct layer *layer)
{
    struct stuck *stuck = &layer->stuck;
    if (log_owner != getpid() || !atomic_exchange(&stuck->runs, false))
        return;
    pthread_mutex_lock(&stuck->lock);
    stuck->stop = true;
    pthread_cond_signal(&stuck->changed);
    pthread_mutex_unlock(&stuck->lock);
    pthread_join(stuck->thread, NULL);
    pthread_cond_destroy(&stuck->changed);
    pthread_mutex_destroy(&stuck->lock);
}
