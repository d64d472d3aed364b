/* SPDX-License-Identifier: MIT */
/*
 * Call sites: the callers of an MPI call (callers.c: walk, frame_rule, code), and what is at an
 * address (describe.c: modules). Debug information is read by a library of its own, which is
 * opened when it is first needed, so that no other process pays for it; this header declares what
 * that library exports.
 */
#ifndef QMPI_SITES_SITES_H
#define QMPI_SITES_SITES_H

#include <qmpi/observer.h>

/* The file, in the directory of the installed tools, and its functions. */
#define QMPI_SYMBOLS_FILE "qmpi-symbols.module"
#define QMPI_SYMBOLS_FIND "qmpi_symbols_find"
#define QMPI_SYMBOLS_CLOSE "qmpi_symbols_close"

/* Finds the functions at an offset in a library, as QMPIX_Library_describe does. Returns their
 * number; 0: nothing is known. *frames and its strings are allocated by malloc, and belong to the
 * caller. One thread at a time. */
typedef int qmpi_symbols_finder(const char *library, size_t offset, QMPIX_Frame **frames);

/* Closes the files that were read and frees what was read of them. Before the library is closed. */
typedef void qmpi_symbols_closer(void);

#endif
