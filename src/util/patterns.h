/* SPDX-License-Identifier: MIT */
/* Lists of patterns in options: `PATTERN;PATTERN`, as a shell has them for files. */
#ifndef QMPI_UTIL_PATTERNS_H
#define QMPI_UTIL_PATTERNS_H

#include <stdbool.h>

/* Whether one of the patterns matches the name; `fold`: whether upper and lower case are the same.
 */
bool qmpi_patterns_match(const char *patterns, const char *name, bool fold);

#endif
