/* SPDX-License-Identifier: MIT */
/* Tools of MPICH's dialect that announce themselves without being asked for. */
#ifndef QMPI_REGISTRY_TOOL_FILTER_H
#define QMPI_REGISTRY_TOOL_FILTER_H

#include <stdbool.h>

/*
 * Whether a tool that is announced under `name` is of the dialect and not asked for: `code` is some
 * of its code and `path` the file of that.
 */
bool qmpi_mpich_is_skipped(const char *name, const void *code, const char *path);

#endif
