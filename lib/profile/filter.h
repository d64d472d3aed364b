/* SPDX-License-Identifier: MIT */
/* Restricts a result to some functions. */
#ifndef QMPI_PROFILE_FILTER_H
#define QMPI_PROFILE_FILTER_H

#include "profile/result.h"

/*
 * Keeps the functions, call sites and functions of regions whose MPI function matches `pattern`
 * (fnmatch, ignoring case), and removes the others. Data that does not refer to single functions
 * (matrix, communicators, files, processes, totals) does not change. Returns the number of
 * remaining functions.
 */
size_t profile_filter(struct profile_result *result, const char *pattern);

#endif
