/* SPDX-License-Identifier: MIT */
/*
 * Resolves addresses to function, file and line with the debug information of a module or of its
 * separate debug file, which is found by its build-id or by .gnu_debuglink. Without debug
 * information, only the function is found, in the symbol table of the module. C++ names are
 * demangled if a C++ runtime is available. Only local files are read, and debuginfod servers are
 * never queried.
 */
#ifndef QMPI_SYMBOLS_SYMBOLS_H
#define QMPI_SYMBOLS_SYMBOLS_H

#include <qmpi/observer.h>

#include <stdint.h>

/*
 * Finds the functions at an offset in an ELF file, and stores one frame for each of them in
 * *frames. The last frame is that of the function that contains the call. The functions that are
 * inlined there come before it, the innermost first. Returns the number of frames, or 0 if nothing
 * is known or memory is exhausted. *frames and its strings are allocated by malloc and belong to
 * the caller. Unknown strings are NULL.
 *
 * The offset is the distance of a return address from the lowest address at which the file is
 * mapped (dli_fbase of dladdr, or the start of its first line in /proc/self/maps). This holds for
 * both position-independent and fixed programs. The byte before the return address is looked up, so
 * that the line is that of the call.
 *
 * Each file is opened once and remains open until symbols_close, because a program has many call
 * sites in few files. The call may take seconds if the debug information is large. Two threads must
 * not use these functions at the same time, and signal handlers must not use them at all.
 */
int symbols_find_in(const char *path, uint64_t offset, QMPIX_Frame **frames);

/* Closes the files. Frames that were found before remain valid. */
void symbols_close(void);

#endif
