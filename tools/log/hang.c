/* SPDX-License-Identifier: MIT */
/* See hang.h. */
#define _GNU_SOURCE
#include "hang.h"

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
            now - frame->begin >= layer->options.hang && !atomic_exchange(&frame->hang, true)) {
            atomic_store(&frame->registered, true);
            line_unfinished(frame, now, true);
        }
    }
}

static void *run(void *data)
{
    struct layer *layer = data;
    struct hang *hang = &layer->hang;
    uint64_t step = layer->options.hang / 4;
    if (step > 1000000000U)
        step = 1000000000U;
    pthread_mutex_lock(&hang->lock);
    while (!hang->stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        const uint64_t nanoseconds = (uint64_t)until.tv_nsec + step;
        until.tv_sec += (time_t)(nanoseconds / 1000000000U);
        until.tv_nsec = (long)(nanoseconds % 1000000000U);
        pthread_cond_timedwait(&hang->changed, &hang->lock, &until);
        pthread_mutex_unlock(&hang->lock);
        if (!atomic_load(&layer->is_quiet))
            look(layer);
        pthread_mutex_lock(&hang->lock);
    }
    pthread_mutex_unlock(&hang->lock);
    return NULL;
}

void hang_start(struct layer *layer)
{
    struct hang *hang = &layer->hang;
    pthread_condattr_t clock;
    sigset_t all, before;
    if (!layer->options.hang || atomic_exchange(&hang->runs, true))
        return;
    hang->stop = false;
    pthread_mutex_init(&hang->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&hang->changed, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all); /* signals are the program's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&hang->thread, NULL, run, layer))
        atomic_store(&hang->runs, false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void hang_stop(struct layer *layer)
{
    struct hang *hang = &layer->hang;
    if (log_owner != getpid() || !atomic_exchange(&hang->runs, false))
        return;
    pthread_mutex_lock(&hang->lock);
    hang->stop = true;
    pthread_cond_signal(&hang->changed);
    pthread_mutex_unlock(&hang->lock);
    pthread_join(hang->thread, NULL);
    pthread_cond_destroy(&hang->changed);
    pthread_mutex_destroy(&hang->lock);
}
