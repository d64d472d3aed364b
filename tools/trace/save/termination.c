/* SPDX-License-Identifier: MIT */
/* See termination.h. */
#define _GNU_SOURCE
#include "save/termination.h"

#include "layer.h"
#include "record/switches.h"
#include "save/start.h"
#include "write/writer.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static atomic_bool watching;

/* Without MPI_Init, or with sessions that have nothing in common, no file has been begun. */
static bool has_records(const struct layer *layer)
{
    return atomic_load(&layer->recorders) && atomic_load(&layer->locations);
}

void termination_end(struct layer *layer, enum trace_end end, const char *detail)
{
    enum { FOREVER = 1000000 };
    if (atomic_exchange(&layer->finished, true))
        return;
    if (!atomic_load(&layer->writer.runs) && has_records(layer) && switches_are_on(layer))
        start_alone(layer);
    switches_set(layer, OFF_CLOSED, true);
    if (writer_writes(&layer->writer))
        writer_finish(layer, end, detail, FOREVER);
}

/* ---- Signals --------------------------------------------------------------------------------- */

static bool wants(void)
{
    bool all = true;
    for (const struct layer *layer = trace_layers; layer; layer = layer->next)
        all = all && (atomic_load(&layer->finished) || !writer_writes(&layer->writer));
    return trace_is_owner() && !all;
}

/* Nothing here takes a lock: the writer does the work. */
static void on_fatal_signal(int number, const char *name)
{
    static const char lost[] =
        "qmpi: trace: the signal interrupted something that the writer needs; "
        "the trace ends with what was written before\n";
    (void)number;
    for (struct layer *layer = trace_layers; layer; layer = layer->next) {
        if (atomic_exchange(&layer->finished, true) || !writer_writes(&layer->writer))
            continue;
        if (!writer_finish(layer, TRACE_END_SIGNAL, name, TOOL_SIGNALS_PATIENCE / 2)) {
            const ssize_t written = write(STDERR_FILENO, lost, sizeof lost - 1);
            (void)written;
        }
    }
}

void termination_watch(void)
{
    static const struct tool_signals user = {wants, on_fatal_signal};
    if (!atomic_exchange(&watching, true))
        tool_signals_watch(&user);
}

/* ---- Exit ------------------------------------------------------------------------------------ */

__attribute__((destructor)) static void leave(void)
{
    if (!trace_is_owner())
        return; /* a forked child: the events are its parent's */
    for (struct layer *layer = trace_layers; layer; layer = layer->next) {
        if (tool_sessions_are_over(&layer->sessions))
            termination_end(layer, TRACE_END_FINALIZE, NULL);
        else
            termination_end(layer, TRACE_END_EXIT, NULL);
    }
    if (atomic_exchange(&watching, false))
        tool_signals_unwatch();
}
