/* SPDX-License-Identifier: MIT */
/*
 * The libraries of which a process has one, whoever needs them: the parts of the C library, the
 * run-time libraries of compilers, and the drivers of devices. Their state is the process's, and
 * objects of theirs pass between all others; they are no tool's, and never copied.
 */
#ifndef QMPI_PROCESS_RUNTIME_LIBRARIES_H
#define QMPI_PROCESS_RUNTIME_LIBRARIES_H

#include <stdbool.h>

/* Whether a soname, or a file name, is that of such a library. */
bool qmpi_runtime_is(const char *name);

#endif
