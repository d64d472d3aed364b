/* SPDX-License-Identifier: MIT */
/*
 * Call sites: the callers of an MPI call (walk.c, frame_rule.c), and descriptions of addresses
 * (describe.c, modules.c). A separate library reads debug information. It is opened when it is
 * first needed, so that processes that do not need it do not load it.
 */
#ifndef QMPI_SITES_SITES_H
#define QMPI_SITES_SITES_H

#include <qmpi/observer.h>

/* The file name of that library, in the directory of the installed tools, and the names of its
 * functions. */
#define QMPI_SYMBOLS_FILE "qmpi-symbols.module"
#define QMPI_SYMBOLS_FIND "qmpi_symbols_find"
#define QMPI_SYMBOLS_CLOSE "qmpi_symbols_close"

/* Finds the functions at an offset in a library, as QMPIX_Library_describe does. Returns their
 * number, or 0 if nothing is known. *frames and its strings are allocated by malloc, and belong to
 * the caller. Only one thread at a time may call this. */
typedef int qmpi_sites_symbol_finder(const char *library, size_t offset, QMPIX_Frame **frames);

/* Closes the files that were read, and frees all data about them. Called before QMPI_SYMBOLS_FILE
 * is closed. */
typedef void qmpi_sites_symbol_closer(void);

/* Forgets all rules by which callers are found. Called while qmpi_module_is_closing is true. */
void qmpi_sites_forget_rules(void);

#endif
