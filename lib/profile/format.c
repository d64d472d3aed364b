/* SPDX-License-Identifier: MIT */
/* See format.h. */
#include "profile/format.h"

#include <stddef.h>
#include <string.h>

const char *const profile_format_names[] = {"text", "json", "csv", NULL};

enum profile_format profile_format_of(const char *path)
{
    const char *end = path ? strrchr(path, '.') : NULL;
    if (!end)
        return PROFILE_TEXT;
    return !strcmp(end, ".json") ? PROFILE_JSON : !strcmp(end, ".csv") ? PROFILE_CSV : PROFILE_TEXT;
}
