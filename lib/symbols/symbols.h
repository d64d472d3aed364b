/* SPDX-License-Identifier: MIT */
/*
 * Resolves addresses to function, file and line, from the debug information of the module or its
 * separate debug file (by build-id or .gnu_debuglink); otherwise to the function, from the symbol
 * table of the module. C++ names are demangled if a C++ runtime is available. Reads only local
 * files; debuginfod servers are never queried.
 */
#ifndef QMPI_SYMBOLS_SYMBOLS_H
#define QMPI_SYMBOLS_SYMBOLS_H

#include <qmpi/observer.h>

#include <stdint.h>

/*
 * Finds what is at an offset in an ELF file: the function that contains the call, preceded by the
 * functions that are inlined there, the innermost first. Returns their number; 0: nothing is known,
 * also for lack of memory. *frames and its strings are allocated by malloc, and belong to the
 * caller. Unknown strings are NULL.
 *
 * The offset is that of a return address from the lowest address at which the file is mapped
 * (dli_fbase of dladdr, the start of the first line in /proc/self/maps), for both
 * position-independent and fixed programs. The line is that of the call: the byte before the return
 * address is looked up.
 *
 * Each file is opened once and remains open until symbols_close, because a program has many call
 * sites in few files.
 * Large debug information may take seconds. One thread at a time; not in a signal handler.
 */
int symbols_find_in(const char *path, uint64_t offset, QMPIX_Frame **frames);

/* Closes the files. What was found remains. One thread at a time, as above. */
void symbols_close(void);

#endif
