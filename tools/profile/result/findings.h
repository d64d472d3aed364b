/* SPDX-License-Identifier: MIT */
/* Problems of a run, in words: which rank loses how much time at which call site, and why. Findings
 * are computed from a result wherever they are needed, like the efficiency. */
#ifndef QMPI_PROFILE_FINDINGS_H
#define QMPI_PROFILE_FINDINGS_H

#include "tools/profile/result/finding.h"

enum { PROFILE_FINDINGS_MOST = 7 };

struct profile_findings {
    struct profile_finding all[PROFILE_FINDINGS_MOST]; /* one with `is_first`, then longest first */
    int count;
};

/* Finds the problems of a run that exceed the thresholds of the result. Returns false if no time
 * was profiled, or if memory is exhausted. */
bool profile_findings_find(const struct profile_result *result, struct profile_findings *findings);

/* Explains in `text`, as a sentence without its period, why most problems cannot be found: there
 * are no call sites, which the result of a trace may lack, or the data of processes is missing.
 * With `others`, the text is about "most other problems". Returns false if there is no such reason.
 */
bool profile_findings_describe_gap(const struct profile_result *result, bool others, char *text,
                                   size_t size);

/* Returns whether a result without findings has no problem: as far as is known, the parallel
 * efficiency is good, and no part of the loss is large. */
bool profile_findings_are_unneeded(const struct profile_result *result);

/* Explains in `text`, which should have PROFILE_NONE_SIZE bytes, why there are no findings, as a
 * sentence without its period. It is "no problems found" only if findings are unneeded. Otherwise,
 * it names a gap (profile_findings_describe_gap), says that functions were selected, or names the
 * largest part of the loss. Returns `text`. */
enum { PROFILE_NONE_SIZE = 640 };
const char *profile_findings_describe_none(const struct profile_result *result, char *text,
                                           size_t size);

#endif
