/* SPDX-License-Identifier: MIT */
/* See patterns.h. */
#include "patterns.h"

#include "util/util.h"

#include <stddef.h>
#include <string.h>

bool globs_match(const char *globs, const char *name)
{
    return !globs || qmpi_patterns_match(globs, name, false);
}

bool globs_name(const char *globs, const char *name)
{
    const size_t wanted = strlen(name);
    while (globs && *globs) {
        const size_t length = strcspn(globs, ";");
        if (length == wanted && !memcmp(globs, name, length))
            return true;
        globs += length + (globs[length] == ';');
    }
    return false;
}
