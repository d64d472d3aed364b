/* SPDX-License-Identifier: MIT */
/*
 * Tells how long this process had a processor, and how long it waited for one. The kernel counts
 * this, so that no call of MPI takes longer. Times are in seconds.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_PROCESSOR_H
#define QMPI_TOOL_PROFILE_RECORD_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

struct processor_usage {
    double time; /* on processors, as a sum over all threads */
    /* The time for which the process was ready to run, but had no processor; 0: none, or unknown.
     * If several threads were ready at the same time, their waiting times are not added up: if each
     * had a processor for half of the time, this is half of the elapsed time. A thread that has
     * ended and never called MPI is not included. */
    double queued;
    uint64_t preemptions; /* how often the kernel took the processor away from any thread */
    double elapsed;       /* by the clock */
};

enum { PROCESSOR_LIST_MAX = 256 };

/* Starts counting. Call this when MPI has been initialized. Further calls have no effect. */
void processor_begin(void);

/* Adds the waiting time of the calling thread, which is about to end, to that of ended threads. */
void processor_end_thread(void);

/* Stores the usage since processor_begin, including the time in which profiling is off. May be
 * called in a signal handler. */
void processor_read(struct processor_usage *usage);

/* Writes the processors that the main thread may use, such as "0-3,8", to a buffer of
 * PROCESSOR_LIST_MAX bytes; "" if they are unknown. A long list ends with "...". May be called in a
 * signal handler. */
void processor_list(char *text);

#endif
