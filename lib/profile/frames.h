/* SPDX-License-Identifier: MIT */
/* Fills in and describes what is at the frames of call sites and of calls in flight. */
#ifndef QMPI_PROFILE_FRAMES_H
#define QMPI_PROFILE_FRAMES_H

#include "profile/result.h"

/*
 * Finds what is at `module` and `offset` of a frame: the innermost function with the place in it,
 * the function that it was inlined in, …, the function that has the code. Sets `function`, `file`
 * and `line` of each, and returns their number; 0: nothing is known. *places and its strings are
 * allocated by malloc, and belong to the caller.
 */
typedef int profile_finder(const struct profile_result *result, const struct profile_frame *frame,
                           struct profile_frame **places);

/* Replaces each frame without a function by what `find` returns for it: all but the last one are
 * `inlined`. Frames are left as they are if nothing is known or memory is exhausted. */
void profile_frames_resolve(struct profile_result *result, profile_finder *find);

/* Returns "function (file:line)" or "module+offset" for each frame, separated by " < ", which the
 * caller frees. NULL: memory is exhausted. */
char *profile_frames_describe(const struct profile_frame *frames, int count);

#endif
