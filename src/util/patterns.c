/* SPDX-License-Identifier: MIT */
/* See patterns.h. */
#define _GNU_SOURCE
#include "util/patterns.h"

#include "util/message.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool qmpi_patterns_match(const char *patterns, const char *name, bool fold)
{
    bool found = false;
    while (!found && *patterns) {
        const size_t length = strcspn(patterns, ";");
        char *pattern = qmpi_copy_part(patterns, length);
        found = *pattern && !fnmatch(pattern, name, fold ? FNM_CASEFOLD : 0);
        free(pattern);
        patterns += length + (patterns[length] == ';');
    }
    return found;
}
