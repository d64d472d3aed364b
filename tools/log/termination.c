/* SPDX-License-Identifier: MIT */
/* See termination.h. */
#define _GNU_SOURCE
#include "termination.h"

#include "hang.h"
#include "line.h"
#include "toolkit/toolkit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_pending(const struct frame *frame)
{
    return atomic_load(&frame->turn) & 1;
}

static bool has_frames(const struct layer *layer)
{
    struct frame *frame = NULL;
    while ((frame = frames_next(frame))) {
        if (is_pending(frame) && frame->layer == layer)
            return true;
    }
    return false;
}

static void say(struct layer *layer, const char *termination, const struct frame *except,
                bool may_print)
{
    struct frame *frame = NULL;
    const uint64_t now = line_now();
    while ((frame = frames_next(frame))) {
        if (is_pending(frame) && frame->layer == layer && frame != except)
            line_unfinished(frame, now, may_print);
    }
    line_termination(layer, termination, may_print);
}

/* A process that only asked for the version has no end worth a line. */
void termination_print(const char *termination, const struct frame *except, bool may_print)
{
    for (struct layer *layer = log_layers; layer; layer = layer->next) {
        const bool begun = atomic_load(&layer->begun) || has_frames(layer);
        if (begun && !atomic_exchange(&layer->ended, true) && !atomic_load(&layer->is_quiet))
            say(layer, termination, except, may_print);
    }
}

/* ---- Signals --------------------------------------------------------------------------------- */

static bool all_ended(void)
{
    bool all = true;
    for (const struct layer *layer = log_layers; layer; layer = layer->next)
        all = all && atomic_load(&layer->ended);
    return all;
}

static bool wants(void)
{
    return log_owner == getpid() && !all_ended();
}

static void on_fatal_signal(int number, const char *name)
{
    char termination[32] = "signal ";
    (void)number;
    strncat(termination, name, sizeof termination - 8);
    termination_print(termination, NULL, false);
}

void termination_watch(void)
{
    static const struct tool_signals user = {wants, on_fatal_signal};
    tool_signals_watch(&user);
}

void termination_unwatch(void)
{
    if (all_ended())
        tool_signals_unwatch();
}

/* ---- Exit ------------------------------------------------------------------------------------ */

__attribute__((destructor)) static void leave(void)
{
    if (log_owner != getpid())
        return; /* a forked child: the calls are its parent's */
    for (struct layer *layer = log_layers; layer; layer = layer->next)
        hang_stop(layer);
    termination_print("exit without MPI_Finalize", NULL, true);
    for (struct layer *layer = log_layers; layer; layer = layer->next)
        sink_flush(&layer->sink);
    termination_unwatch();
}
