/* SPDX-License-Identifier: MIT */
/*
 * The return addresses on the call stack, innermost first. Uses libunwind if it is loaded, which
 * caches the frame layout of each function and takes tens of nanoseconds per frame; otherwise, and
 * in forked children, backtrace of the C library.
 */
#ifndef QMPI_UTIL_UNWIND_H
#define QMPI_UTIL_UNWIND_H

/* Prepares qmpi_unwind; called during start-up. */
void qmpi_unwind_prepare(void);

/* Loads libunwind, if available. For stacks that unwind often: those with PMPI tools or with a
 * Fortran binding. Does nothing before qmpi_unwind_prepare and when called again. Not for use
 * during an MPI call. */
void qmpi_unwind_load(void);

/* Stores up to `capacity` addresses and returns their number. The first address is in the calling
 * function, or in the function into which it was inlined. */
int qmpi_unwind(void **frames, int capacity);

#endif
