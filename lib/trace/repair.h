/* SPDX-License-Identifier: MIT */
/*
 * The controlled logical clock (R. Rabenseifner, "The controlled logical clock", EuroMicro 1997;
 * D. Becker, R. Rabenseifner, F. Wolf, J. Linford, "Scalable timestamp synchronization for event
 * traces of message-passing applications", Parallel Computing 35, 2009). It moves events that
 * depend on others to later times, so that no message arrives before it was sent plus the least
 * latency, and no member leaves a collective before those whose data it needs have entered it.
 *
 * Forward amplification: what follows a moved event keeps the length of its intervals times a
 * control factor, until the times of the clock are reached again. Backward amortization: what came
 * directly before it moves as well, evenly, as far as no other message is then sent too late. All
 * threads of a process have one clock, and are corrected together; the order of its events stays.
 */
#ifndef QMPI_TRACE_REPAIR_H
#define QMPI_TRACE_REPAIR_H

#include "trace/view.h"

struct trace_repair;

struct repair_figures {
    uint64_t messages;    /* whose receive has been moved */
    uint64_t collectives; /* whose end has been moved, counted by process */
    int64_t largest;      /* by which an event has been moved, in nanoseconds */
};

/*
 * Finds the corrections of a view without any. `latency` is the least latency in nanoseconds.
 * Returns NULL if memory is exhausted.
 */
struct trace_repair *trace_repair_make(const struct trace_view *view, int64_t latency);
void trace_repair_free(struct trace_repair *repair);
struct repair_figures trace_repair_figures(const struct trace_repair *repair);

/* Where a reader of the events of a process is. */
struct repair_knot;
struct repair_position {
    const struct repair_knot *knots;
    size_t count, next;
    uint64_t event;
};
void trace_repair_start(const struct trace_repair *repair, uint32_t process,
                        struct repair_position *position);

/* The corrected time of the next event. */
int64_t trace_repair_time(struct repair_position *position, int64_t time);

/* The corrected time of the end of a process. */
int64_t trace_repair_end(const struct trace_repair *repair, uint32_t process, int64_t time);

#endif
