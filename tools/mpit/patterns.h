/* SPDX-License-Identifier: MIT */
/* Lists of patterns for names: `GLOB;GLOB`, as a shell's for files. */
#ifndef QMPI_TOOL_MPIT_PATTERNS_H
#define QMPI_TOOL_MPIT_PATTERNS_H

#include <stdbool.h>

/* Whether one of the patterns matches the name. NULL: all names do. */
bool globs_match(const char *globs, const char *name);

/* Whether one of them is the name itself. */
bool globs_name(const char *globs, const char *name);

#endif
