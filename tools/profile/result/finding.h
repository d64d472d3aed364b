/* SPDX-License-Identifier: MIT */
/* A problem of a run, and the kinds of problems: see findings.h. */
#ifndef QMPI_PROFILE_FINDING_H
#define QMPI_PROFILE_FINDING_H

#include "tools/profile/result/profile_result.h"

/* The kinds of findings. finder.c has the table of their names and flags. */
enum profile_finding_kind {
    FINDING_SERIAL_STARTUP,
    FINDING_LATE_SENDER,
    FINDING_LATE_RECEIVER,
    FINDING_BOTTLENECK,
    FINDING_SLOW_REQUESTS,
    FINDING_IMBALANCE,
    FINDING_BARRIER,
    FINDING_ONE_SIDED_WAIT,
    FINDING_DEADLOCK,
    FINDING_IN_FLIGHT,
    FINDING_SMALL_MESSAGES,
    FINDING_SMALL_COLLECTIVES,
    FINDING_SLOW_COLLECTIVES,
    FINDING_SERIAL_SENDS,
    FINDING_SMALL_FILE_ACCESSES,
    FINDING_SERIAL_IO,
    FINDING_POLLING,
    FINDING_TEMPORARY_OBJECTS,
    FINDING_LEAKED_OBJECTS,
    FINDING_NO_PROCESSOR,
    FINDING_SLOW_NODE,
    FINDING_STARTUP,
    FINDING_SHUTDOWN,
    FINDING_TIME_IN_MPI,
    FINDING_KINDS
};

/* What rules that examine the findings of other rules must know about a kind. */
enum profile_finding_flag {
    /* Ranks wait for another rank. The meaning says why that rank is late, if this is known. If
     * another finding explains why it is late, this finding is left out as a consequence. */
    FINDING_WAITS = 1,
    /* Ranks wait to receive a message, or until one that they send is received. The late rank may
     * be a bottleneck. */
    FINDING_AWAITS_PEER = 2,
    /* The finding is about calls at a call site during the run. The meaning says in which region
     * and when most of the time is lost. Findings of other kinds name a part of the run
     * themselves, or are about the run as a whole. */
    FINDING_HAS_PLACE = 4,
    /* The rank that the finding names is late. The meaning says what that rank does meanwhile. */
    FINDING_NAMES_LATE_RANK = 8,
    /* The time of the finding is lost in MPI_Init, before the run, or may be lost outside MPI. */
    FINDING_OUTSIDE_MPI = 16
};

struct profile_finding_traits {
    const char *name; /* in JSON and CSV, on the page and in docs/run/profile.md */
    unsigned flags;   /* enum profile_finding_flag */
};
extern const struct profile_finding_traits profile_finding_kinds[FINDING_KINDS];

struct profile_finding {
    enum profile_finding_kind kind;
    double seconds; /* the time that the rank, or each waiting rank, loses */
    double share;   /* `seconds` / the elapsed time (FINDING_STARTUP: plus that of MPI_Init) */
    int rank;       /* the rank that the summary names, if it names one */
    int peer;       /* the other rank that the summary names; -1: none */
    const struct profile_callsite *site; /* a call site of the result; NULL: none */
    /* The late rank spends `excess` seconds more outside MPI than the others, between the calls
     * `from` and `to`. 0: the rank is late for another reason, or the reason is unknown. */
    double excess;
    const struct profile_callsite *from, *to; /* NULL: the start or the end of the rank's data */
    const char *region; /* the region in which most of the time is lost; NULL: there is none */
    double begin, end;  /* seconds: the short part of the run in which most time is lost; 0: none */
    bool is_first;      /* The finding is listed first, whatever its time is. */
    char summary[512];
    char brief[512]; /* the summary with a long name of a file cut; "": see `summary` */
    char meaning[720];
    const char *advice;
};

/* Returns the name of the kind of a finding, such as "late-sender". */
static inline const char *profile_finding_kind_name(const struct profile_finding *finding)
{
    return profile_finding_kinds[finding->kind].name;
}

static inline bool profile_finding_is(const struct profile_finding *finding,
                                      enum profile_finding_flag flag)
{
    return profile_finding_kinds[finding->kind].flags & (unsigned)flag;
}

/* Returns the summary as a text report contains it. */
static inline const char *profile_finding_text(const struct profile_finding *finding)
{
    return *finding->brief ? finding->brief : finding->summary;
}

#endif
