/* SPDX-License-Identifier: MIT */
/*
 * The clock of this process: the cycle counter of the processor if it has a constant rate on all
 * cores, otherwise CLOCK_MONOTONIC. QMPI_CLOCK=monotonic excludes the counter. Readings are in
 * ticks. The length of a tick is measured roughly at the start, and again when a conversion needs
 * it, over the time since the start, so that calibration hardly delays the program.
 */
#ifndef QMPI_CLOCK_CLOCK_H
#define QMPI_CLOCK_CLOCK_H

#include "clock/arch/counter.h"
#include "functions/functions.h"

#include <stdbool.h>
#include <stdint.h>

/* Set by qmpi_clock_start. Hidden, so that it is read directly, not through the GOT. */
extern bool qmpi_clock_is_counter QMPI_HIDDEN;

/* Reads QMPI_CLOCK, and reports a value that is invalid or not possible on this machine. Called
 * when the stack is built. */
void qmpi_clock_configure(void);

/* Selects the clock and starts the calibration; further calls have no effect. The first call takes
 * some 20 us if the clock is the cycle counter. Any thread; after qmpi_clock_configure, also in a
 * signal handler. */
void qmpi_clock_start(void);

/* Whether the clock has been started, so that this thread may read it and convert times. */
bool qmpi_clock_has_started(void);

/* Returns CLOCK_MONOTONIC in nanoseconds. */
uint64_t qmpi_clock_monotonic(void);

/* Returns the current time in ticks. The clock must have been started. Any thread, also in a signal
 * handler. */
static inline uint64_t qmpi_clock_now(void)
{
    if (QMPI_HAS_COUNTER && __builtin_expect(qmpi_clock_is_counter, 1))
        return qmpi_counter_now();
    return qmpi_clock_monotonic();
}

/* One moment on this clock and CLOCK_MONOTONIC. */
struct qmpi_clock_moment {
    uint64_t ticks;
    uint64_t nanoseconds;
    uint64_t width; /* ticks: maximum distance of the two readings */
};

/* The length of a tick. */
struct qmpi_clock_tick {
    double nanoseconds;
    double error; /* maximum relative error */
};

/* Returns the moment at which the clock was started. The clock must have been started before this
 * function or one of the next two is called. */
struct qmpi_clock_moment qmpi_clock_started_at(void);

/* Returns the length of a tick. If the clock is the cycle counter, measures it over the time since
 * qmpi_clock_start, and waits until this time is at least 1 ms. Any thread, also in a signal
 * handler. */
struct qmpi_clock_tick qmpi_clock_refine(void);

/* Converts a number of ticks to nanoseconds. The length of a tick is measured over an interval at
 * least half as long as `ticks`, if that much time has passed since the start, so that the error of
 * the result is about that of a few readings. Any thread, also in a signal handler. */
uint64_t qmpi_clock_nanoseconds(uint64_t ticks);

/* ---- The relation to other processes --------------------------------------------------------- */

/*
 * The relation of this clock to that of a reference process. The reference process is rank 0 of
 * MPI_COMM_WORLD or, if rank 0 has no layer that requests the relation, the lowest rank with such a
 * layer. offsets.c measures the relation at the end of MPI_Init and at the beginning of
 * MPI_Finalize. After the second measurement, it interpolates between the two; before that, it
 * extrapolates from the first.
 */

/* Wraps the functions in `targets` (see qmpi_terminator_targets) that initialize and finalize MPI.
 * Called before any layer is added. */
void qmpi_clock_watch(qmpi_function **targets);

/* Requests the measurements. Called while the stack is built. */
void qmpi_clock_request_offsets(void);

/* Measures for the second time, if the first measurement has succeeded; further calls have no
 * effect. Collective over the processes that requested the measurements. Called in MPI_Finalize:
 * before the first callback of an observer, and again by the terminator, in case no layer observes
 * the call. */
void qmpi_clock_finish_offsets(void);

#endif
