/* SPDX-License-Identifier: MIT */
/* A problem of a run: see findings.h. */
#ifndef QMPI_PROFILE_FINDING_H
#define QMPI_PROFILE_FINDING_H

#include "tools/profile/result/profile_result.h"

/* The length that fits in 80 columns behind the prefix of messages. */
enum { PROFILE_FINDING_LINE = 74 };

struct profile_finding {
    const char *kind;                    /* "late-sender": see docs/run/profile.md */
    double seconds;                      /* that the rank, or each rank that waits, loses */
    double share;                        /* of the elapsed time */
    int rank;                            /* that the summary names */
    int peer;                            /* the other rank that it names; -1: none */
    const struct profile_callsite *site; /* of the result; NULL: none */
    bool is_first;                       /* It is listed first, whatever its time is. */
    char summary[512];
    /* The summary in one line of the text report; "": the report prints the summary in several. */
    char line[PROFILE_FINDING_LINE + 1];
    char meaning[480];
    const char *advice;
};

#endif
