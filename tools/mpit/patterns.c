/* SPDX-License-Identifier: MIT */
/* See patterns.h. */
#define _GNU_SOURCE
#include "patterns.h"

#include "util/util.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool globs_match(const char *globs, const char *name)
{
    bool found = !globs;
    while (!found && *globs) {
        const size_t length = strcspn(globs, ";");
        char *glob = qmpi_copy_part(globs, length);
        found = *glob && !fnmatch(glob, name, 0);
        free(glob);
        globs += length + (globs[length] == ';');
    }
    return found;
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
