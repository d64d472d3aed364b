/* SPDX-License-Identifier: MIT */
/*
 * Libraries that exist once per process: the C library, run-time libraries of compilers, and device
 * drivers. Their state belongs to the process, and data that one of them creates are passed between
 * other libraries. They never belong to a tool, and are never copied.
 */
#ifndef QMPI_PROCESS_RUNTIME_LIBRARIES_H
#define QMPI_PROCESS_RUNTIME_LIBRARIES_H

#include <stdbool.h>

/* Whether this is the soname or file name of such a library. */
bool qmpi_runtime_is(const char *name);

/* Whether this is the soname or file name of a sanitizer's library. */
bool qmpi_runtime_is_sanitizer(const char *name);

/* The option that makes AddressSanitizer accept other libraries before its own, and the function
 * through which a program or library passes options to AddressSanitizer: see sanitizers.c.
 */
#define QMPI_SANITIZER_OPTION "verify_asan_link_order=0"
#define QMPI_SANITIZER_FUNCTION "__asan_default_options"

#endif
