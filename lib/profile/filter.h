/* SPDX-License-Identifier: MIT */
/* Narrows a result down to some functions. */
#ifndef QMPI_PROFILE_FILTER_H
#define QMPI_PROFILE_FILTER_H

#include "profile/result.h"

/*
 * Keeps the functions, call sites and functions of regions whose MPI function matches `pattern`
 * (fnmatch, upper and lower case alike) and drops the others. What is not told by function
 * (matrix, communicators, files, processes, totals) stays as it is. How many functions are left.
 */
size_t profile_filter(struct profile_result *result, const char *pattern);

#endif
