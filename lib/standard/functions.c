/* SPDX-License-Identifier: MIT */
/* Finds the meaning of functions by their names (see standard.h). */
#include "standard/standard.h"

#include <string.h>

static const struct standard_function *find_standard_function(const char *name)
{
    int low = 0, high = standard_function_count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const struct standard_function *function = &standard_functions[middle];
        const int order = strcmp(name, standard_function_names + function->name);
        if (!order)
            return function;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool standard_find_traits(const char *name, QMPIX_Traits *traits)
{
    const struct standard_function *function = name ? find_standard_function(name) : NULL;
    memset(traits, -1, sizeof *traits); /* This sets the numbers of all arguments to -1. */
    traits->size = sizeof *traits;
    traits->role = function ? (QMPIX_Role)function->role : QMPIX_ROLE_NONE;
    traits->flags = function ? function->flags : 0;
    traits->collective = function ? (QMPIX_Collective)function->collective : QMPIX_COLLECTIVE_NONE;
    traits->flow = function ? (QMPIX_Flow)function->flow : QMPIX_FLOW_NONE;
    traits->access = function ? (QMPIX_Access)function->access : QMPIX_ACCESS_NONE;
    return function != NULL;
}
