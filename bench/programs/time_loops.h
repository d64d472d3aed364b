/* SPDX-License-Identifier: MIT */
/* The loops of the measured programs: counted by count_steps, or timed. */
#ifndef BENCH_TIME_LOOPS_H
#define BENCH_TIME_LOOPS_H

/*
 * Runs `loop` with `calls` calls, `loops` times, and prints nanoseconds per call, the median of the
 * loops. 0 if each `loop` returned 0, as it must; else, or without memory, 1.
 */
int time_loops(int (*loop)(long calls), long calls, long loops);

/*
 * Runs `loop` with 1 call to warm up, and then with each of `count` numbers of calls, for
 * count_steps to count. 0 if each `loop` returned 0, as it must; else, or if a number is not above
 * 0, 1.
 */
int count_loops(int (*loop)(long calls), int count, char *const *calls);

#endif
