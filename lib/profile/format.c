/* SPDX-License-Identifier: MIT */
/* See format.h. */
#include "profile/format.h"

#include <stddef.h>
#include <string.h>

const char *const profile_format_names[] = {"text", "json", "csv", "html", NULL};

enum profile_format profile_format_of(const char *path)
{
    const char *end = path ? strrchr(path, '.') : NULL;
    for (int format = PROFILE_JSON; end && profile_format_names[format]; format++) {
        if (!strcmp(end + 1, profile_format_names[format]))
            return (enum profile_format)format;
    }
    return PROFILE_TEXT;
}
