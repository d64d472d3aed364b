/* SPDX-License-Identifier: MIT */
/* Filters out tools of MPICH's variant that register themselves without being listed. */
#ifndef QMPI_REGISTRY_TOOL_FILTER_H
#define QMPI_REGISTRY_TOOL_FILTER_H

#include <stdbool.h>

/*
 * Whether a tool that registers as `name` is of this variant and is not listed. `code` is an
 * address in its code, and `path` the file that contains it.
 */
bool qmpi_mpich_is_skipped(const char *name, const void *code, const char *path);

#endif
