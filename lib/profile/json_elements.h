/* SPDX-License-Identifier: MIT */
/*
 * What a result consists of as JSON values, which the caller owns. NULL: memory is exhausted, or an
 * argument is NULL for this reason; the containers of jansson refuse it.
 */
#ifndef QMPI_PROFILE_JSON_ELEMENTS_H
#define QMPI_PROFILE_JSON_ELEMENTS_H

#include "profile/efficiency.h"
#include "profile/findings.h"
#include "profile/result.h"
#include "profile/windows.h"

#include <jansson.h>

/* Invalid bytes become U+FFFD; NULL is an empty text. */
json_t *element_string(const char *text);

/* JSON has no infinity (0), and jansson no integer above INT64_MAX. */
json_t *element_real(double value);
json_t *element_whole(uint64_t value);

json_t *element_spread(const struct profile_spread *spread);
/* A finding of `result`, and several as an array. */
json_t *element_finding(const struct profile_result *result, const struct profile_finding *it);
json_t *element_findings(const struct profile_result *result,
                         const struct profile_findings *findings);

json_t *element_efficiency(const struct profile_efficiency *efficiency);

/* The frames of a call site, as an array. */
json_t *element_frames(const struct profile_frame *frames, int count);

/* Elements of the arrays of `result`. */
json_t *element_function(const struct profile_result *result, const void *element);
json_t *element_callsite(const struct profile_result *result, const void *element);
json_t *element_flight(const struct profile_result *result, const void *element);
json_t *element_cell(const struct profile_result *result, const void *element);
json_t *element_communicator(const struct profile_result *result, const void *element);
json_t *element_file(const struct profile_result *result, const void *element);
json_t *element_region(const struct profile_result *result, const void *element);
json_t *element_process(const struct profile_result *result, const void *element);

/* Adds to the object of a function or a call site what files list of its ranks; and to that of a
 * call site what ranks waited there. Nothing if there is none. False: memory is exhausted. */
bool element_add_by_rank(json_t *object, const struct profile_result *result,
                         const struct profile_calls *calls, const struct profile_by_rank *by_rank);
bool element_add_waits(json_t *object, const struct profile_waits *waits);

/* json_windows.c: the windows of a rank, an element of an array; and a figure of each window, as an
 * array, null where it is unknown. */
json_t *element_window_rank(const struct profile_result *result, const void *element);
json_t *element_window_efficiency(const struct profile_windows *windows,
                                  double (*figure)(const struct profile_window_efficiency *it));

/* Returns the object if it is `good`; otherwise frees it and returns NULL. */
json_t *element_finish(json_t *object, bool good);

#endif
