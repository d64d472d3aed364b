/* SPDX-License-Identifier: MIT */
/*
 * Addresses as people know them: function, file and line, from the debug information of the module
 * or of its separate debug file (by build-id or .gnu_debuglink), else the function from the
 * module's symbol table. C++ names are demangled where a C++ runtime is there. Reads files only on
 * this machine: no debuginfod server is ever asked.
 */
#ifndef QMPI_SYMBOLS_SYMBOLS_H
#define QMPI_SYMBOLS_SYMBOLS_H

#include "profile/result.h"

/*
 * Fills `function`, `file` and `line` of those frames that can be told; the strings are malloc'ed,
 * and what a frame has already is freed. What cannot be told, or for want of memory, stays NULL and
 * 0.
 *
 * A frame's `offset` is that of a return address from the lowest address at which its module is
 * mapped (dladdr's dli_fbase, the start of the first line in /proc/self/maps): the same for a
 * position-independent and for a fixed program. The line is that of the call: the byte before the
 * return address is looked up. Where calls are inlined it is the innermost function, its file and
 * line.
 *
 * Each module is opened once: all frames belong in one call, which orders them by module. May take
 * seconds (large debug information). One thread at a time; not in a signal handler.
 */
void profile_symbols_resolve(struct profile_frame **frames, size_t count);

#endif
