/* SPDX-License-Identifier: MIT */
/* See view.h. */
#include "trace/view.h"

#include "trace/repair.h"

#include <stdlib.h>

bool trace_view_has(const struct trace_view *view, uint32_t process)
{
    return process < view->trace->process_count &&
           (!view->selection.processes || view->selection.processes[process]);
}

bool trace_view_open(struct trace_view *view, const struct trace *trace,
                     const struct trace_selection *selection)
{
    *view = (struct trace_view){.trace = trace};
    if (selection)
        view->selection = *selection;
    view->messages = calloc(trace->process_count + 1, sizeof *view->messages);
    for (uint32_t i = 0; view->messages && i < trace->process_count; i++) {
        if (!trace_view_has(view, i))
            continue;
        view->messages[i] = trace_messages_read(trace, i);
        if (!view->messages[i])
            return false;
    }
    return view->messages;
}

void trace_view_close(struct trace_view *view)
{
    for (uint32_t i = 0; view->messages && i < view->trace->process_count; i++)
        trace_messages_free(view->messages[i]);
    free(view->messages);
    view->messages = NULL;
}

int64_t trace_view_begin(const struct trace_view *view)
{
    return view->selection.has_begin && view->selection.begin > 0 ? view->selection.begin : 0;
}

int64_t trace_view_end(const struct trace_view *view)
{
    int64_t end = view->trace->end;
    for (uint32_t i = 0; view->repair && i < view->trace->process_count; i++) {
        const int64_t later = trace_view_end_of(view, i);
        end = later > end ? later : end;
    }
    return view->selection.has_end && view->selection.end < end ? view->selection.end : end;
}

int64_t trace_view_end_of(const struct trace_view *view, uint32_t process)
{
    const struct trace_process *it = &view->trace->processes[process];
    int64_t end = trace_time(view->trace, it, it->end_ticks);
    if (view->repair)
        end = trace_repair_end(view->repair, process, end);
    return view->selection.has_end && view->selection.end < end ? view->selection.end : end;
}
