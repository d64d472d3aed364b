/* SPDX-License-Identifier: MIT */
/* The rules of findings.c, each of which looks for causes of one kind, and what they share. */
#ifndef QMPI_PROFILE_FINDINGS_PARTS_H
#define QMPI_PROFILE_FINDINGS_PARTS_H

#include "profile/finding.h"

enum { FINDER_ROOM = 64 };

/* One rank that works at the start of the run while all others wait. */
struct finder_startup {
    const struct profile_callsite *site; /* where they do */
    int rank;                            /* -1: there is none */
    double seconds;
};

struct finder {
    const struct profile_result *result;
    double elapsed;   /* of the run */
    double least;     /* seconds that are worth a finding */
    double init_part; /* the part of the run that is, in MPI_Init and MPI_Finalize */
    struct profile_finding found[FINDER_ROOM];
    int causes[FINDER_ROOM]; /* the rank that makes the others wait; -1: none */
    int count;
    struct finder_startup startup;
    bool good; /* memory has not been exhausted */
};

/* Adds a finding about a rank, whose summary follows. If there is no room, the least one goes.
 * NULL: that would be this one. */
struct profile_finding *finder_add(struct finder *finder, const char *kind, double seconds,
                                   int rank, const struct profile_callsite *site);

/* The rank that makes others wait, according to the last finding added. */
void finder_blame(struct finder *finder, const struct profile_finding *finding, int rank);

/* Writes the summary. \1 stands for the place of the call site; if the line would be too long, what
 * is between \2 and \3 is left out, and then the start of the place. */
void finder_summarize(struct profile_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "1.40 s (22 %)", valid like the texts of units.h. */
const char *finder_amount(const struct finder *finder, double seconds);

/* Time outside MPI of a rank; 0: unknown. */
double finder_useful(const struct finder *finder, int rank);

/* The function of a name; NULL: none. */
const struct profile_function *finder_function(const struct finder *finder, const char *name);

/* The call site of a function that takes most time; NULL: none. */
const struct profile_callsite *finder_longest(const struct finder *finder, const char *function);

/* Whether a function belongs to a group. */
bool finder_is_in(const struct finder *finder, const char *function, const char *group);

/* findings_sums.c: whether a function is one of those that a rule is about; */
typedef bool finder_matcher(const struct finder *finder, const char *function);

/* whether its name contains one of the words, which end with NULL; */
bool finder_contains(const char *name, const char *const *words);

/* what each rank does in those functions, to be freed, with finder_count_ranks elements (the
 * highest rank + 1); NULL: memory is exhausted; */
struct rank_sum {
    double time, bytes;
    uint64_t calls;
};
int finder_count_ranks(const struct profile_result *result);
struct rank_sum *finder_sum_ranks(struct finder *finder, finder_matcher *matches);

/* and the call site of them where a rank spends most time; NULL: none. */
const struct profile_callsite *finder_find_site(const struct finder *finder,
                                                finder_matcher *matches);

/* findings_startup.c: without the time at the start of the run, what a rank waits for another one
 * at a call site. At another site than that of the start, this is nothing if it is what the rank
 * waited elsewhere at the start. */
struct finder_wait {
    int rank, cause; /* -1: unknown */
    double seconds;
};
double finder_subtract_startup(const struct finder *finder, const struct profile_callsite *site,
                               struct finder_wait wait);

/* findings_short_waits.c: what the rank that waits longest in point-to-point calls of a site loses
 * there, where each of them waits for too short a time to be told from work; seconds 0: nothing. */
struct finder_wait findings_short_waits(const struct finder *finder,
                                        const struct profile_callsite *site);

/* findings_waits.c: late senders and receivers; findings_collectives.c: ranks that come last;
 * findings_ends.c: start, end and nodes; findings_usage.c: how MPI is used. */
void findings_startup(struct finder *finder); /* first: others subtract what it finds */
void findings_waits(struct finder *finder);
void findings_collectives(struct finder *finder);
void findings_nodes(struct finder *finder);
void findings_ends(struct finder *finder);
void findings_messages(struct finder *finder);
void findings_files(struct finder *finder);
void findings_polling(struct finder *finder);
void findings_objects(struct finder *finder);

#endif
