/* SPDX-License-Identifier: MIT */
/* See snapshot.h. */
#define _GNU_SOURCE
#include "save/snapshot.h"

#include "layer.h"
#include "util/util.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

void snapshot_request(struct layer *layer)
{
    atomic_store(&layer->writer.saves, true);
    writer_wake(&layer->writer);
}

static void on_signal(int number)
{
    const int error = errno;
    for (struct layer *layer = trace_layers; layer; layer = layer->next) {
        if (layer->options.save_signal == number)
            snapshot_request(layer);
    }
    errno = error;
}

static bool is_free(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) &&
           (action->sa_handler == SIG_DFL || action->sa_handler == on_signal);
}

void snapshot_watch(const struct layer *layer)
{
    const int number = layer->options.save_signal;
    struct sigaction before, ours;
    if (!number || QMPIX_Tool_sigaction(number, NULL, &before, false) != MPI_SUCCESS)
        return;
    if (!is_free(&before)) {
        qmpi_printf(
            "trace (layer %d): rank %d: save-signal=: the program handles signal %d itself\n"
            "  hint: choose another signal, or write 1 to the control variable "
            "qmpi.trace.save",
            layer->tool_id, layer->rank, number);
        return;
    }
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    QMPIX_Tool_sigaction(number, &ours, NULL, true);
}
