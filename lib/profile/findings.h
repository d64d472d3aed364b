/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with a run, in words: which rank loses how much time at which call site, and why.
 * Findings are computed from a result wherever they are needed, like the efficiency.
 */
#ifndef QMPI_PROFILE_FINDINGS_H
#define QMPI_PROFILE_FINDINGS_H

#include "profile/finding.h"

enum { PROFILE_FINDINGS_MOST = 7 };

struct profile_findings {
    struct profile_finding all[PROFILE_FINDINGS_MOST]; /* most time first */
    int count;
};

/* Finds what is wrong; `thresholds` of the result say what is worth a finding. False: no time was
 * profiled, or memory is exhausted. */
bool profile_findings_find(const struct profile_result *result, struct profile_findings *findings);

/* Whether the result contains no call sites, without which most problems cannot be found: that of a
 * trace may lack them. */
bool profile_findings_need_sites(const struct profile_result *result);

#endif
