/* SPDX-License-Identifier: MIT */
/*
 * The return addresses on the stack, innermost first. libunwind, where the system has it, remembers
 * each function's frame and takes tens of nanoseconds for one; else the C library's backtrace.
 */
#ifndef QMPI_UTIL_UNWIND_H
#define QMPI_UTIL_UNWIND_H

/* In start-up, before anybody calls qmpi_unwind. */
void qmpi_unwind_prepare(void);

/* Stores up to `capacity` addresses and returns how many. The first is in the calling function or
 * in what it was inlined into. */
int qmpi_unwind(void **frames, int capacity);

#endif
