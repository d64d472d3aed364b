/* SPDX-License-Identifier: MIT */
/*
 * Libraries that exist once per process: the C library, run-time libraries of compilers, and device
 * drivers. Their state belongs to the process, and their objects are passed between other
 * libraries. They never belong to a tool, and are never copied.
 */
#ifndef QMPI_PROCESS_RUNTIME_LIBRARIES_H
#define QMPI_PROCESS_RUNTIME_LIBRARIES_H

#include <stdbool.h>

/* Whether this is the soname or file name of such a library. */
bool qmpi_runtime_is(const char *name);

#endif
