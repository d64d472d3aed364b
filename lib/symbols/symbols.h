/* SPDX-License-Identifier: MIT */
/*
 * Resolves addresses to function, file and line, from the debug information of the module or its
 * separate debug file (by build-id or .gnu_debuglink); otherwise to the function, from the symbol
 * table of the module. C++ names are demangled if a C++ runtime is available. Reads only local
 * files; debuginfod servers are never queried.
 */
#ifndef QMPI_SYMBOLS_SYMBOLS_H
#define QMPI_SYMBOLS_SYMBOLS_H

#include "profile/profile.h"

#include <qmpi/observer.h>

/* An opened ELF file. One thread at a time; not in a signal handler. */
struct symbols_file;

/* Opens a file, its debug information included. NULL: it is no ELF file, or memory is out. */
struct symbols_file *symbols_open(const char *path);
void symbols_close(struct symbols_file *file);

/*
 * Resolves an offset, as below, to the function that contains the call, preceded by the functions
 * that are inlined there, the innermost first. Returns their number; 0: nothing is known. *frames
 * and its strings are allocated by malloc, and belong to the caller.
 */
int symbols_find(struct symbols_file *file, uint64_t offset, QMPIX_Frame **frames);

/*
 * Sets `function`, `file` and `line` of the frames that can be resolved. The strings are allocated
 * by malloc; previous ones are freed. Unknown values, also for lack of memory, are NULL and 0.
 *
 * The `offset` of a frame is the offset of a return address from the lowest address at which its
 * module is mapped (dli_fbase of dladdr, the start of the first line in /proc/self/maps), for both
 * position-independent and fixed programs. The line is that of the call: the byte before the return
 * address is looked up. For inlined calls, the innermost function with its file and line is used.
 *
 * Each module is opened once per call, so all frames should be passed in one call. Large debug
 * information may take seconds. One thread at a time; not in a signal handler.
 */
void profile_symbols_resolve(struct profile_frame **frames, size_t count);

#endif
