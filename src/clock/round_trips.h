/* SPDX-License-Identifier: MIT */
/* Measures the clocks of all processes against that of rank 0, by messages. */
#ifndef QMPI_CLOCK_ROUND_TRIPS_H
#define QMPI_CLOCK_ROUND_TRIPS_H

#include "clock/reading.h"

#include <mpi.h>

/*
 * How much the rates of two clocks may differ: the kernel corrects the rate of CLOCK_MONOTONIC, to
 * which counters are compared, by at most 500 ppm.
 */
#define QMPI_RATES_DIFFER 500e-6

/* Rank 0's clock: a moment of it in ticks and in nanoseconds, the length of a tick in nanoseconds,
 * and how far this may be off in parts of itself. */
struct qmpi_reference {
    uint64_t ticks;
    uint64_t nanoseconds;
    double tick;
    double error;
    bool is_counter;
};

/* One moment on the clock of this process and on rank 0's. */
struct qmpi_clock_relation {
    uint64_t here;     /* ticks of this process */
    uint64_t there;    /* ticks of rank 0; equal if the two seem to be one clock */
    double bound;      /* nanoseconds: how far `there` may be off */
    double rate;       /* ticks of rank 0 in a tick of this process, as they were determined */
    double error;      /* how far the length of a tick of this process may be off, in parts of it */
    bool is_reference; /* this process is rank 0 */
};

/* Collective over `comm`, whose ranks are those of MPI_COMM_WORLD. Returns false if a call of MPI
 * fails. */
bool qmpi_round_trips(MPI_Comm comm, struct qmpi_clock_tick tick, struct qmpi_reference *reference,
                      struct qmpi_clock_relation *relation);

#endif
