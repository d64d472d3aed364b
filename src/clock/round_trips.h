/* SPDX-License-Identifier: MIT */
/* Measures the clocks of the processes of a communicator against that of its rank 0, by
 * messages. */
#ifndef QMPI_CLOCK_ROUND_TRIPS_H
#define QMPI_CLOCK_ROUND_TRIPS_H

#include "clock/clock.h"

#include <mpi.h>

/*
 * The maximum relative difference of the rates of two clocks: the kernel corrects the rate of
 * CLOCK_MONOTONIC, to which counters are compared, by at most 500 ppm.
 */
#define QMPI_RATES_DIFFER 500e-6

/* The clock of rank 0. */
struct qmpi_clock_reference {
    uint64_t ticks;       /* a moment in ticks, */
    uint64_t nanoseconds; /* and in nanoseconds */
    double tick;          /* nanoseconds */
    double error;         /* maximum relative error of `tick` */
    bool is_counter;
};

/* One moment on the clock of this process and on rank 0's. */
struct qmpi_clock_relation {
    uint64_t here;     /* ticks of this process */
    uint64_t there;    /* ticks of rank 0; equal to `here` if the two seem to be one clock */
    double bound;      /* nanoseconds: maximum error of `there` */
    double rate;       /* measured ticks of rank 0 per tick of this process */
    double error;      /* maximum relative error of the length of a tick of this process */
    bool is_reference; /* this process is rank 0, or has its clock: no conversion */
};

/* Measures the clock of this process, whose tick has the length `tick`, against that of rank 0 of
 * `comm`. Sets *reference to the clock of rank 0, and *relation to the relation of the two clocks.
 * Collective over `comm`. Returns false if a call of MPI fails or memory is exhausted. */
bool qmpi_round_trips(MPI_Comm comm, struct qmpi_clock_tick tick,
                      struct qmpi_clock_reference *reference, struct qmpi_clock_relation *relation);

#endif
