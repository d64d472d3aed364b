/* SPDX-License-Identifier: MIT */
/* The clock of the measured programs. */
#ifndef BENCH_TIME_LOOPS_H
#define BENCH_TIME_LOOPS_H

/*
 * Runs `loop` with `calls` calls, `loops` times, and prints nanoseconds per call, the median of the
 * loops. 0 if each `loop` returned 0, as it must; else, or without memory, 1.
 */
int time_loops(int (*loop)(long calls), long calls, long loops);

#endif
