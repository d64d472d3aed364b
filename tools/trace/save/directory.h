/* SPDX-License-Identifier: MIT */
/*
 * The directory of a trace. An existing one is replaced if it is a trace: if it contains nothing
 * but files that a trace consists of. Nothing else is ever removed.
 */
#ifndef QMPI_TOOL_TRACE_SAVE_DIRECTORY_H
#define QMPI_TOOL_TRACE_SAVE_DIRECTORY_H

#include <stdbool.h>

/* Whether a trace can be written there, as far as can be told before. Returns NULL, or the message,
 * which the caller frees. */
char *directory_check(const char *path);

/* Creates the directory, or removes the trace that is in it. Returns NULL, or the message, which
 * the caller frees. */
char *directory_prepare(const char *path);

/* Creates the directory if it does not exist: on another node, it may be another one. */
void directory_make(const char *path);

#endif
