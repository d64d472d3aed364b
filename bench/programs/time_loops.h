/* SPDX-License-Identifier: MIT */
/* Runs the loop of a measured program, so that it is timed or its instructions can be counted. */
#ifndef BENCH_TIME_LOOPS_H
#define BENCH_TIME_LOOPS_H

/*
 * Runs `loop` with `calls` calls, `loops` times, and prints the nanoseconds per call, as the median
 * of the loops. Returns 0 if each `loop` returned 0, as it must; otherwise, or if memory is
 * exhausted, 1.
 */
int time_loops(int (*loop)(long calls), long calls, long loops);

/*
 * Runs `loop` with 1 call first, and then with each of the `count` numbers in `calls`. count_steps
 * or callgrind counts the instructions of the latter runs. Returns 0 if each `loop` returned 0, as
 * it must; otherwise, or if a number is not positive, 1.
 */
int count_loops(int (*loop)(long calls), int count, char *const *calls);

#endif
