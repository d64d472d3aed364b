/* SPDX-License-Identifier: MIT */
/* See filter.h. What is dropped moves behind what stays, out of the count, and is freed here. */
#define _GNU_SOURCE
#include "profile/filter.h"

#include <fnmatch.h>

static bool matches(const char *name, const char *pattern)
{
    return fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

static size_t filter_functions(struct profile_function *functions, size_t count,
                               const char *pattern)
{
    size_t saved = 0;
    for (size_t i = 0; i < count; i++) {
        if (matches(functions[i].name, pattern)) {
            functions[saved++] = functions[i];
            continue;
        }
        profile_function_clear(&functions[i]);
    }
    return saved;
}

static size_t filter_callsites(struct profile_callsite *callsites, size_t count,
                               const char *pattern)
{
    size_t saved = 0;
    for (size_t i = 0; i < count; i++) {
        if (matches(callsites[i].name, pattern)) {
            callsites[saved++] = callsites[i];
            continue;
        }
        profile_callsite_clear(&callsites[i]);
    }
    return saved;
}

size_t profile_filter(struct profile_result *result, const char *pattern)
{
    result->function_count = filter_functions(result->functions, result->function_count, pattern);
    result->callsite_count = filter_callsites(result->callsites, result->callsite_count, pattern);
    for (size_t i = 0; i < result->region_count; i++) {
        struct profile_region *region = &result->regions[i];
        region->function_count =
            filter_functions(region->functions, region->function_count, pattern);
    }
    return result->function_count;
}
