/* SPDX-License-Identifier: MIT */
/*
 * The return addresses on the call stack, innermost first. Uses libunwind if available, which
 * caches the frame layout of each function and takes tens of nanoseconds per frame; otherwise
 * backtrace of the C library.
 */
#ifndef QMPI_UTIL_UNWIND_H
#define QMPI_UTIL_UNWIND_H

/* Prepares qmpi_unwind; called during start-up. */
void qmpi_unwind_prepare(void);

/* Stores up to `capacity` addresses and returns their number. The first address is in the calling
 * function, or in the function into which it was inlined. */
int qmpi_unwind(void **frames, int capacity);

#endif
