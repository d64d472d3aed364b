/* SPDX-License-Identifier: MIT */
/* See checkpoint.h. */
#define _GNU_SOURCE
#include "save/checkpoint.h"

#include "layer.h"
#include "save/process_report.h"
#include "util/util.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static atomic_bool on_fatal_signal; /* by a signal that ends the process */

/* Waits until `when` or until it is to stop: then false. */
static bool wait_until(struct saving *saving, const struct timespec *when)
{
    int result = 0;
    pthread_mutex_lock(&saving->lock);
    while (!saving->stop && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&saving->changed, &saving->lock, when);
    const bool go_on = !saving->stop;
    pthread_mutex_unlock(&saving->lock);
    return go_on;
}

/* What is written at an end is the better file, and has the same name. */
static void save(struct layer *layer)
{
    atomic_store(&layer->saving.writes, true);
    if (!atomic_load(&on_fatal_signal) && !atomic_load(&layer->reported))
        process_checkpoint(layer);
    atomic_store(&layer->saving.writes, false);
}

static void *run(void *data)
{
    struct layer *layer = data;
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    for (;;) {
        when.tv_sec += layer->options.checkpoint;
        if (!wait_until(&layer->saving, &when))
            return NULL;
        save(layer);
    }
}

/* The application's signals are for its own threads. */
static int create(struct layer *layer)
{
    sigset_t all, before;
    pthread_condattr_t attributes;
    pthread_mutex_init(&layer->saving.lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&layer->saving.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int problem = pthread_create(&layer->saving.thread, NULL, run, layer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return problem;
}

void checkpoint_start(struct layer *layer)
{
    if (!layer->options.checkpoint || layer->saving.runs)
        return;
    layer->saving.stop = false;
    const int problem = create(layer);
    layer->saving.runs = !problem;
    if (problem)
        qmpi_printf("profile (layer %d): rank %d: no checkpoints: cannot start a thread: %s",
                    layer->tool_id, layer->rank, strerror(problem));
}

static void stop(struct layer *layer)
{
    pthread_mutex_lock(&layer->saving.lock);
    layer->saving.stop = true;
    pthread_cond_signal(&layer->saving.changed);
    pthread_mutex_unlock(&layer->saving.lock);
    pthread_join(layer->saving.thread, NULL);
    layer->saving.runs = false;
}

void checkpoint_stop(struct layer *layer)
{
    static pthread_mutex_t stopping = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&stopping); /* threads may end the process at one time */
    if (layer->saving.runs)
        stop(layer);
    pthread_mutex_unlock(&stopping);
}

/* The thread may wait for a lock that the struck thread has: it will not write then. */
void checkpoint_strike(void)
{
    enum { MILLISECONDS = 2000 };
    const struct timespec pause = {0, 1000000};
    atomic_store(&on_fatal_signal, true);
    for (struct layer *layer = profile_layers; layer; layer = layer->next) {
        for (int i = 0; atomic_load(&layer->saving.writes) && i < MILLISECONDS; i++)
            nanosleep(&pause, NULL);
    }
}
