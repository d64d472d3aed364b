/* SPDX-License-Identifier: MIT */
/* A problem of a run: see findings.h. */
#ifndef QMPI_PROFILE_FINDING_H
#define QMPI_PROFILE_FINDING_H

#include "tools/profile/result/profile_result.h"

struct profile_finding {
    const char *kind;                    /* "late-sender": see docs/run/profile.md */
    double seconds;                      /* that the rank, or each rank that waits, loses */
    double share;                        /* of the elapsed time */
    int rank;                            /* that the summary names */
    int peer;                            /* the other rank that it names; -1: none */
    const struct profile_callsite *site; /* of the result; NULL: none */
    /* The two calls between which the late rank spends `excess` seconds more than the others,
     * outside MPI. 0: it is late for another reason, or nothing is known. */
    double excess;
    const struct profile_callsite *from, *to; /* NULL: the start or the end of its data */
    const char *region; /* in which most of the time is lost; NULL: in no single one */
    double begin, end;  /* the part of the run in which most of it is lost; 0: in no short one */
    bool is_first;      /* It is listed first, whatever its time is. */
    char summary[512];
    char brief[512]; /* the summary, in which long names of files are cut; "": none is long */
    char meaning[720];
    const char *advice;
};

/* Returns the summary as a text report contains it. */
static inline const char *profile_finding_text(const struct profile_finding *finding)
{
    return *finding->brief ? finding->brief : finding->summary;
}

#endif
