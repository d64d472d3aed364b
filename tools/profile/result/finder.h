/* SPDX-License-Identifier: MIT */
/* The rules that look for findings, and the functions that they share: functions that add and word
 * findings, and queries about functions, call sites and ranks. */
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
    double init_part; /* the shortest part of the run that is worth a finding about MPI_Init or
                         MPI_Finalize */
    struct finder_rank_sum *in_collectives; /* of each rank: see finder_elsewhere */
    struct profile_finding found[FINDER_ROOM];
    int causes[FINDER_ROOM]; /* for each finding: the rank that makes others wait; -1: none */
    int count;
    struct finder_startup startup;
    bool good; /* memory has not been exhausted */
};

/* Returns a finder for a result, without any findings yet. The caller frees it with finder_free.
 * Returns NULL if memory is exhausted. */
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

/* The advice of a finding about a rank that was not profiled for some time. */
extern const char *const finder_advice_off;

/* Writes the summary and its brief form. In `format`, \1 stands for the place of the call site. */
void finder_summarize(struct profile_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the place of a call site, such as "ocean.c:83" or "app+0x51c"; "?" if the site is NULL or
 * has no frames. */
void finder_describe_place(const struct profile_callsite *site, char *place, size_t size);

/* Returns a time and its share of the run, such as "1.40 s (22 %)". The text stays valid until the
 * eighth further call in the same thread. */
const char *finder_amount(const struct finder *finder, double seconds);

/* Returns the process of a rank, or NULL. */
const struct profile_process *finder_process(const struct finder *finder, int rank);

/* Returns the time of a rank outside MPI; 0: unknown. */
double finder_useful(const struct finder *finder, int rank);

/* Returns the part of the elapsed time, in seconds, for which a rank was not profiled
 * (profile_efficiency_off), or 0 if this is less than 1 % of the run. What the rank did meanwhile,
 * and whether it was late, is unknown. */
double finder_off(const struct finder *finder, int rank);

/* Returns the part of a rank's application time, in seconds, that it does not spend in collective
 * operations; 0: unknown. */
double finder_elsewhere(const struct finder *finder, int rank);

/* Returns how many threads of a rank called MPI, as computed from its times, or 1 if this is
 * unknown. Times of calls are sums over the threads. Divided by this number, they are parts of the
 * rank's time. */
double finder_threads(const struct finder *finder, int rank);

/* Returns the function of this name, or NULL. */
const struct profile_function *finder_function(const struct finder *finder, const char *name);

/* Returns the call site where a function takes most time, or NULL. */
const struct profile_callsite *finder_longest(const struct finder *finder, const char *function);

/* Returns whether a function belongs to a group. */
bool finder_is_in(const struct finder *finder, const char *function, const char *group);

/* ---- Kinds of functions ---------------------------------------------------------------------- */

/* Returns what a function does, by its name. */
QMPIX_Traits finder_traits(const char *function);

/* Whether a call of the function sends, receives or awaits messages itself. Calls that complete
 * requests do not. */
bool finder_is_message(const char *function);

/* Whether all ranks of a communicator, window or file call the function together. */
bool finder_is_collective(const struct finder *finder, const char *function);

/* Whether a call of the function waits for access to a window. */
bool finder_awaits_access(const char *function);

/* Returns the mean number of bytes that a rank transfers in one-sided communication, as the origin
 * and as the target. The calls that end an access may have to wait for the transfer. */
double finder_access_bytes(const struct finder *finder);

/* Whether the function creates, commits or frees datatypes, operations, communicators (also with
 * topologies), groups or infos. */
bool finder_makes_objects(const struct finder *finder, const char *function);

/* Returns whether a rank that waits for a peer at a call site waits until the peer receives a
 * message. Otherwise, it waits for a message from the peer. */
bool finder_awaits_receiver(const struct finder *finder, const struct profile_callsite *site,
                            int rank, int peer);

/* ---- Ranks ----------------------------------------------------------------------------------- */

struct finder_rank_sum {
    /* In struct finder_ranks, the time includes waiting (sync=yes). In the array of
     * finder_sum_ranks, the time of a rank excludes waiting in the functions for which struct
     * finder_ranks lists the rank. In other functions, only the mean is known, which includes
     * waiting. */
    double time, bytes;
    uint64_t calls;
};

/* The ranks that called one function, or that made calls at one call site, and these calls. Times
 * are means over the threads of a rank. The times of calls in flight are subtracted, because
 * finder_rule_flights reports these calls. */
struct finder_ranks {
    struct profile_rank_calls all[PROFILE_OUTLIERS]; /* by time including waiting, shortest first */
    int count;
    int others;                  /* the number of ranks that made calls and are not in `all` */
    struct finder_rank_sum mean; /* the mean over these others */
    double low, high;            /* the bounds of the times of these others */
    struct finder_rank_sum sum;  /* the sum over all ranks */
};
void finder_ranks_of_site(const struct finder *finder, const struct profile_callsite *site,
                          struct finder_ranks *ranks);
void finder_ranks_of_function(const struct finder *finder, const struct profile_function *function,
                              struct finder_ranks *ranks);

/* Returns the calls of a rank, or NULL if they are unknown or it made none. */
const struct profile_rank_calls *finder_rank(const struct finder_ranks *ranks, int rank);

/* Returns the time, including waiting (sync=yes). */
double finder_total(const struct profile_rank_calls *calls);

/* Returns the time, without measured waiting, of the rank that spends most at a call site, and sets
 * *rank (-1: unknown). */
double finder_longest_rank(const struct finder *finder, const struct profile_callsite *site,
                           int *rank);

/* Returns whether a call in flight was made at the call site. */
bool finder_is_flight_of(const struct profile_flight *flight, const struct profile_callsite *site);

/* Returns whether a rule is about a function. */
typedef bool finder_matcher(const struct finder *finder, const char *function);

/* Returns the number of processes of MPI_COMM_WORLD whose data is missing, as far as is known. */
size_t finder_count_missing(const struct profile_result *result);

/* Returns the highest rank + 1, but at least the number of ranks. */
int finder_count_ranks(const struct profile_result *result);

/* Sums up the calls of all matching functions by rank. Returns an array of finder_count_ranks
 * elements, which the caller frees, and sets *all to the sum over all ranks. Clears finder->good
 * and returns NULL if memory is exhausted. */
struct finder_rank_sum *finder_sum_ranks(struct finder *finder, finder_matcher *matches,
                                         struct finder_rank_sum *all);

/* Among the call sites of matching functions, returns the one at which a single rank spends most
 * time, or NULL if there is none. */
const struct profile_callsite *finder_find_site(const struct finder *finder,
                                                finder_matcher *matches);

/* Among the ranks with which `rank` exchanges messages, returns the one that spends most time
 * outside MPI, or -1 if there is none. */
int finder_busiest_neighbor(const struct finder *finder, int rank);

/* Estimates how long `calls` calls that move `bytes` bytes take if no rank waits. */
static inline double finder_explain(uint64_t calls, double bytes)
{
    return 20e-6 * (double)calls + 2e-9 * bytes;
}

/* The time for which `rank` waits for the rank `cause` at a call site. */
struct finder_wait {
    int rank, cause; /* -1: unknown */
    double seconds;
    int peers; /* the number of ranks for which `rank` waits; 0: not counted */
};

/* Returns wait.seconds without the part for which the rank waited for the serial startup
 * (finder_rule_startup). If the rank of the startup is not wait.cause, nothing is subtracted. If
 * `site` is the call site of the startup, the time of the startup is subtracted. At any other site,
 * returns 0 if the rank waited for about as long as the part of the startup that it did not spend
 * at the call site of the startup; otherwise, returns wait.seconds. */
double finder_subtract_startup(const struct finder *finder, const struct profile_callsite *site,
                               struct finder_wait wait);

/* ---- Rules -----------------------------------------------------------------------------------
 * Most rules look for problems, and add findings. finder_rule_causes, finder_rule_serial_io and
 * finder_rule_where only complete findings of other rules. profile_findings_find calls
 * finder_rule_startup first, because other rules subtract what it finds. It calls finder_rule_rest
 * after all rules whose findings may explain lost time.
 */

/* These are about the run as a whole (findings_run.c). */
void finder_rule_startup(struct finder *finder);
void finder_rule_nodes(struct finder *finder);
void finder_rule_processors(struct finder *finder);
void finder_rule_ends(struct finder *finder);
void finder_rule_rest(struct finder *finder);

/* This rule is about calls that had not ended when the data of their processes was saved
 * (findings_hang.c). */
void finder_rule_flights(struct finder *finder);

/* These are about ranks that wait in point-to-point calls or for access to a window
 * (findings_waits.c). */
void finder_rule_waits(struct finder *finder);
void finder_rule_access(struct finder *finder);

/* This rule is about ranks that wait for the last rank in collective calls, and about slow
 * collective calls (findings_collectives.c). */
void finder_rule_collectives(struct finder *finder);

/* These look for the causes of what the rules above have found: a rank for which many others wait,
 * and what a late rank did while others waited for it (findings_causes.c). */
void finder_rule_bottleneck(struct finder *finder);
void finder_rule_causes(struct finder *finder);
void finder_rule_serial_io(struct finder *finder);

/* Returns whether the finding with the number `cause` is about a bottleneck or serial I/O that
 * explains why ranks wait according to the finding with the number `it`. The latter is then left
 * out. */
bool finder_explains(const struct finder *finder, int cause, int it);

/* Returns how much longer, apart from possible waiting, the calls of a rank at a site take than
 * equally many of the fastest calls of the same function with a similar size. Of the ranks at the
 * site, the one that spends least time there is examined. Returns 0 if the calls are not much
 * slower, if waiting may explain the time, or if the calls cannot be judged: they are few or not
 * blocking collective operations, or the ranks made different numbers of them or were not profiled
 * all the time. */
double finder_slow_time(const struct finder *finder, const struct profile_callsite *site,
                        const struct finder_ranks *ranks);

/* States, in the findings of the rules above, in which region and when their time is lost
 * (findings_where.c). */
void finder_rule_where(struct finder *finder);

/* This rule is about objects that are not freed (findings_leaks.c). */
void finder_rule_leaks(struct finder *finder);

/* These are about the use of MPI (findings_usage.c). */
void finder_rule_messages(struct finder *finder);
void finder_rule_files(struct finder *finder);
void finder_rule_polling(struct finder *finder);
void finder_rule_objects(struct finder *finder);

#endif
