/* SPDX-License-Identifier: MIT */
/* The rules that look for findings, and what they share: the list of findings, their wording, and
 * questions about functions, call sites and ranks. */
#ifndef QMPI_PROFILE_FINDER_H
#define QMPI_PROFILE_FINDER_H

#include "tools/profile/result/finding.h"

#include <qmpi/traits.h>

enum { FINDER_ROOM = 64 };

/* A rank that works at the start of the run while all others wait. */
struct finder_startup {
    const struct profile_callsite *site; /* where the others wait */
    int rank;                            /* -1: there is none */
    double seconds;
};

struct finder {
    const struct profile_result *result;
    const struct profile_process **processes;   /* by rank: see finder_process */
    const struct profile_matrix_entry **matrix; /* by `from`, then `to` */
    double elapsed;                             /* of the run */
    double threads;   /* the mean of finder_threads over the ranks, weighted by their time in MPI */
    double least;     /* the shortest time, in seconds, that is worth a finding */
    double init_part; /* the same for MPI_Init and MPI_Finalize, as a part of the run */
    struct finder_rank_sum *in_collectives; /* of each rank: see finder_elsewhere */
    struct profile_finding found[FINDER_ROOM];
    int causes[FINDER_ROOM]; /* the rank that makes the others wait; -1: none */
    int count;
    struct finder_startup startup;
    bool good; /* memory has not been exhausted */
};

/* Prepares the search for findings in a result, without findings. The caller frees it with
 * finder_free. Returns NULL if memory is exhausted. */
struct finder *finder_make(const struct profile_result *result);
void finder_free(struct finder *finder);

/* Returns the share of the elapsed time that is worth a finding. */
double finder_threshold(const struct profile_result *result);

/* Returns the shortest time that is worth a finding, in seconds. */
double finder_least_seconds(const struct profile_result *result);

/* Adds a finding about a rank. The caller then sets its summary, meaning and advice. If there is no
 * room, the finding with the least time is removed; if this would be the new one, returns NULL. */
struct profile_finding *finder_add(struct finder *finder, enum profile_finding_kind kind,
                                   double seconds, int rank, const struct profile_callsite *site);

/* Records the rank that makes others wait, according to a finding. */
void finder_blame(struct finder *finder, const struct profile_finding *finding, int rank);

/* The advice where a rank was not profiled. */
extern const char *const finder_advice_off;

/* Writes the summary. \1 stands for the place of the call site. */
void finder_summarize(struct profile_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the place of a call site, such as "ocean.c:83" or "app+0x51c"; "?" if it is NULL or has no
 * frames. */
void finder_describe_place(const struct profile_callsite *site, char *place, size_t size);

/* Returns a time and its share of the run, such as "1.40 s (22 %)". The text is valid as long as
 * the texts of units.h. */
const char *finder_amount(const struct finder *finder, double seconds);

/* Returns the process of a rank, or NULL. */
const struct profile_process *finder_process(const struct finder *finder, int rank);

/* Returns the time of a rank outside MPI; 0: unknown. */
double finder_useful(const struct finder *finder, int rank);

/* Returns the time for which a rank, but not every rank, was not profiled (MPI_Pcontrol); 0 if that
 * is less than 1 % of the run. It is unknown what the rank did then, and whether it was late. */
double finder_off(const struct finder *finder, int rank);

/* Returns the time that a rank does not spend in collective operations. */
double finder_elsewhere(const struct finder *finder, int rank);

/* Returns the number of threads of a rank that called MPI, as its times tell; 1: unknown. Times of
 * calls are sums over threads: divided by this number, they are parts of the rank's time. */
double finder_threads(const struct finder *finder, int rank);

/* Returns the function of this name, or NULL. */
const struct profile_function *finder_function(const struct finder *finder, const char *name);

/* Returns the call site of a function that takes most time, or NULL. */
const struct profile_callsite *finder_longest(const struct finder *finder, const char *function);

/* Returns whether a function belongs to a group. */
bool finder_is_in(const struct finder *finder, const char *function, const char *group);

/* ---- Kinds of functions ---------------------------------------------------------------------- */

/* Returns what a function does, by its name. */
QMPIX_Traits finder_traits(const char *function);

/* Whether a call of the function transfers or awaits one message. */
bool finder_is_message(const char *function);

/* Whether all ranks of a communicator, window or file call the function together. */
bool finder_is_collective(const struct finder *finder, const char *function);

/* Whether a call of the function waits for access to a window. */
bool finder_awaits_access(const char *function);

/* Returns the mean number of bytes that a rank transfers in one-sided communication, in both
 * directions. The calls that end it may have to wait for the transfer. */
double finder_access_bytes(const struct finder *finder);

/* Whether the function creates, changes or frees datatypes, communicators, groups or infos. */
bool finder_makes_objects(const struct finder *finder, const char *function);

/* Whether a rank that waits for a peer at a call site waits for a receive of the peer, and not for
 * a message. */
bool finder_awaits_receiver(const struct finder *finder, const struct profile_callsite *site,
                            int rank, int peer);

/* ---- Ranks ----------------------------------------------------------------------------------- */

struct finder_rank_sum {
    double time, bytes; /* The time of a single element includes waiting (sync=yes). */
    uint64_t calls;
};

/* The ranks that made calls of one function or at one call site, with their calls. Times are means
 * over the threads of a rank. Calls in flight are left out, because finder_rule_flights reports
 * them. */
struct finder_ranks {
    struct profile_rank_calls all[PROFILE_OUTLIERS]; /* the least time, with waiting, first */
    int count;
    int others;                  /* the number of further ranks that made calls, */
    struct finder_rank_sum mean; /* their mean, */
    double low, high;            /* and the bounds of their times */
    struct finder_rank_sum sum;  /* of all ranks */
};
void finder_ranks_of_site(const struct finder *finder, const struct profile_callsite *site,
                          struct finder_ranks *ranks);
void finder_ranks_of_function(const struct finder *finder, const struct profile_function *function,
                              struct finder_ranks *ranks);

/* Returns the calls of a rank, or NULL if they are unknown or it made none. */
const struct profile_rank_calls *finder_rank(const struct finder_ranks *ranks, int rank);

/* Returns the time, including waiting (sync=yes). */
double finder_total(const struct profile_rank_calls *calls);

/* Returns the time of the rank that spends most at a call site, and sets *rank. */
double finder_longest_rank(const struct finder *finder, const struct profile_callsite *site,
                           int *rank);

/* Returns whether a call in flight was made at the call site. */
bool finder_is_flight_of(const struct profile_flight *flight, const struct profile_callsite *site);

/* Returns whether a rule is about a function. */
typedef bool finder_matcher(const struct finder *finder, const char *function);

/* Returns the number of processes of MPI_COMM_WORLD whose data is missing, as far as is known. */
size_t finder_count_missing(const struct profile_result *result);

/* Returns the highest rank + 1. */
int finder_count_ranks(const struct profile_result *result);

/* Returns the sums of the functions that match by rank, an array of finder_count_ranks elements
 * that the caller frees; *all receives those of all ranks. NULL: memory is exhausted. */
struct finder_rank_sum *finder_sum_ranks(struct finder *finder, finder_matcher *matches,
                                         struct finder_rank_sum *all);

/* Returns the call site where functions that match take most of the time of a rank, or NULL. */
const struct profile_callsite *finder_find_site(const struct finder *finder,
                                                finder_matcher *matches);

/* Returns the rank that works most among those with which a rank exchanges messages; -1: none. */
int finder_busiest_neighbor(const struct finder *finder, int rank);

/* Returns the time that `calls` that move `bytes` take if no rank waits. */
static inline double finder_explain(uint64_t calls, double bytes)
{
    return 20e-6 * (double)calls + 2e-9 * bytes;
}

/* The time for which a rank waits for another one at a call site. */
struct finder_wait {
    int rank, cause; /* -1: unknown */
    double seconds;
    int peers; /* for how many ranks it waits; 0: not counted */
};

/* Returns the time of a wait without that at the start of the run. At another site than that of the
 * start, this is nothing if it is what the rank waited elsewhere at the start. */
double finder_subtract_startup(const struct finder *finder, const struct profile_callsite *site,
                               struct finder_wait wait);

/* ---- Rules -----------------------------------------------------------------------------------
 * Each rule looks for causes of one kind, and adds findings. profile_findings_find calls
 * finder_rule_startup first, because other rules subtract what it finds, and finder_rule_rest last.
 */

/* These are about the run as a whole (findings_run.c). */
void finder_rule_startup(struct finder *finder);
void finder_rule_nodes(struct finder *finder);
void finder_rule_processors(struct finder *finder);
void finder_rule_ends(struct finder *finder);
void finder_rule_rest(struct finder *finder);

/* This is about calls that had not ended when the data of their processes was saved
 * (findings_hang.c). */
void finder_rule_flights(struct finder *finder);

/* These are about ranks that wait for one peer (findings_waits.c). */
void finder_rule_waits(struct finder *finder);
void finder_rule_access(struct finder *finder);

/* This is about ranks that wait for the last one (findings_collectives.c). */
void finder_rule_collectives(struct finder *finder);

/* These are about the causes of what the rules above have found: a rank for which many others wait,
 * and what a late rank did meanwhile (findings_causes.c). */
void finder_rule_bottleneck(struct finder *finder);
void finder_rule_causes(struct finder *finder);
void finder_rule_serial_io(struct finder *finder);

/* Returns whether a finding of these rules tells why ranks wait according to another one, which is
 * then no finding of its own. */
bool finder_explains(const struct finder *finder, int cause, int it);

/* Returns by how much the calls at a site are slower than the fastest ones of the same function and
 * size, for the rank that is fastest there; 0 if waiting may explain it. */
double finder_dear_time(const struct finder *finder, const struct profile_callsite *site,
                        const struct finder_ranks *ranks);

/* This tells in which region and when the time of the findings is lost that the rules above have
 * found (findings_where.c). */
void finder_rule_where(struct finder *finder);

/* This is about objects that are not freed (findings_leaks.c). */
void finder_rule_leaks(struct finder *finder);

/* These are about the use of MPI (findings_usage.c). */
void finder_rule_messages(struct finder *finder);
void finder_rule_files(struct finder *finder);
void finder_rule_polling(struct finder *finder);
void finder_rule_objects(struct finder *finder);

#endif
