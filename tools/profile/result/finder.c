/* SPDX-License-Identifier: MIT */
/*
 * See finder.h: the list of findings, their wording, and the queries of rules about ranks. For each
 * function and call site, a result contains the calls of at most PROFILE_OUTLIERS ranks, and the
 * sums over all ranks. Of the other ranks, two things are known: their mean, and that their times
 * lie between those of two known ranks.
 */
#define _GNU_SOURCE
#include "tools/profile/result/finder.h"

#include "standard/standard.h"
#include "tools/profile/result/efficiency.h"
#include "tools/profile/result/units.h"
#include "util/util.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The list -------------------------------------------------------------------------------- */

static double threshold_part(int percent, int standard)
{
    return (percent ? percent : standard) / 100.0;
}

double finder_threshold(const struct profile_result *result)
{
    return threshold_part(result->thresholds.any, PROFILE_THRESHOLD);
}

double finder_least_seconds(const struct profile_result *result)
{
    /* Shorter times may be due to starting and ending processes, or to other programs on the
     * machine. */
    const double least_seconds = 0.01;
    const double part = finder_threshold(result) * result->application.max;
    return part > least_seconds ? part : least_seconds;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct profile_process *mine = *(const struct profile_process *const *)a;
    const struct profile_process *its = *(const struct profile_process *const *)b;
    return (mine->rank > its->rank) - (mine->rank < its->rank);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct profile_matrix_entry *mine = *(const struct profile_matrix_entry *const *)a;
    const struct profile_matrix_entry *its = *(const struct profile_matrix_entry *const *)b;
    if (mine->from != its->from)
        return mine->from < its->from ? -1 : 1;
    return (mine->to > its->to) - (mine->to < its->to);
}

/* Makes lists of the processes and of the pairs of the matrix, sorted by rank. Those of the result
 * are unsorted only in files that were edited. */
static bool make_indices(struct finder *finder)
{
    const struct profile_result *result = finder->result;
    const size_t ranks = result->process_count, pairs = result->matrix_entry_count;
    finder->processes = calloc(ranks + 1, sizeof *finder->processes);
    finder->matrix = calloc(pairs + 1, sizeof *finder->matrix);
    if (!finder->processes || !finder->matrix)
        return false;
    for (size_t i = 0; i < ranks; i++)
        finder->processes[i] = &result->processes[i];
    for (size_t i = 0; i < pairs; i++)
        finder->matrix[i] = &result->matrix[i];
    qsort(finder->processes, ranks, sizeof *finder->processes, compare_ranks);
    qsort(finder->matrix, pairs, sizeof *finder->matrix, compare_pairs);
    return true;
}

void finder_free(struct finder *finder)
{
    free(finder->processes);
    free(finder->matrix);
    free(finder->in_collectives);
    free(finder);
}

/* Returns the number of threads whose times in MPI have the sum `mpi` and the mean `inside`. A
 * small difference between the two is a rounding error. */
static double divide_threads(double mpi, double inside)
{
    return inside > 0 && mpi > 1.001 * inside ? mpi / inside : 1;
}

static double mean_threads(const struct profile_result *result)
{
    double mpi = 0, inside = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        mpi += result->processes[i].mpi;
        inside += fmax(result->processes[i].application - result->processes[i].useful, 0);
    }
    return divide_threads(mpi, inside);
}

static bool is_collective_operation(const struct finder *finder, const char *function)
{
    (void)finder;
    return finder_traits(function).role == QMPIX_ROLE_COLLECTIVE;
}

struct finder *finder_make(const struct profile_result *result)
{
    struct finder_rank_sum all;
    struct finder *finder = calloc(1, sizeof *finder);
    if (!finder)
        return NULL;
    finder->result = result;
    finder->threads = mean_threads(result);
    if (!make_indices(finder)) {
        finder_free(finder);
        return NULL;
    }
    finder->elapsed = result->application.max;
    finder->init_part = threshold_part(result->thresholds.init, PROFILE_INIT_THRESHOLD);
    finder->least = finder_least_seconds(result);
    finder->startup.rank = -1;
    finder->good = true;
    finder->in_collectives = finder_sum_ranks(finder, is_collective_operation, &all);
    if (!finder->good) {
        finder_free(finder);
        return NULL;
    }
    return finder;
}

/* ---- Kinds of findings ----------------------------------------------------------------------- */

const struct profile_finding_traits profile_finding_kinds[FINDING_KINDS] = {
    [FINDING_SERIAL_STARTUP] = {"serial-startup", FINDING_NAMES_LATE_RANK},
    [FINDING_LATE_SENDER] = {"late-sender",
                             FINDING_WAITS | FINDING_AWAITS_PEER | FINDING_HAS_PLACE},
    [FINDING_LATE_RECEIVER] = {"late-receiver",
                               FINDING_WAITS | FINDING_AWAITS_PEER | FINDING_HAS_PLACE},
    [FINDING_BOTTLENECK] = {"bottleneck", FINDING_WAITS | FINDING_HAS_PLACE},
    [FINDING_SLOW_REQUESTS] = {"slow-requests", FINDING_HAS_PLACE},
    [FINDING_IMBALANCE] = {"imbalance", FINDING_WAITS | FINDING_HAS_PLACE},
    [FINDING_BARRIER] = {"barrier", FINDING_WAITS | FINDING_HAS_PLACE},
    [FINDING_ONE_SIDED_WAIT] = {"one-sided-wait", FINDING_WAITS | FINDING_HAS_PLACE},
    [FINDING_DEADLOCK] = {"deadlock", 0},
    [FINDING_IN_FLIGHT] = {"in-flight", 0},
    [FINDING_SMALL_MESSAGES] = {"small-messages", FINDING_HAS_PLACE},
    [FINDING_SMALL_COLLECTIVES] = {"small-collectives", FINDING_HAS_PLACE},
    [FINDING_SLOW_COLLECTIVES] = {"slow-collectives", FINDING_HAS_PLACE},
    [FINDING_SERIAL_SENDS] = {"serial-sends", FINDING_HAS_PLACE},
    [FINDING_SMALL_FILE_ACCESSES] = {"small-file-accesses", FINDING_HAS_PLACE},
    [FINDING_SERIAL_IO] = {"serial-io", FINDING_HAS_PLACE},
    [FINDING_POLLING] = {"polling", FINDING_HAS_PLACE},
    [FINDING_TEMPORARY_OBJECTS] = {"temporary-objects", FINDING_HAS_PLACE},
    [FINDING_LEAKED_OBJECTS] = {"leaked-objects", 0},
    [FINDING_NO_PROCESSOR] = {"no-processor", FINDING_OUTSIDE_MPI},
    [FINDING_SLOW_NODE] = {"slow-node", 0},
    [FINDING_STARTUP] = {"startup", FINDING_OUTSIDE_MPI},
    [FINDING_SHUTDOWN] = {"shutdown", FINDING_NAMES_LATE_RANK},
    [FINDING_TIME_IN_MPI] = {"time-in-mpi", 0},
};

static int find_least_finding(const struct finder *finder)
{
    int least = 0;
    for (int i = 1; i < finder->count; i++) {
        if (finder->found[i].seconds < finder->found[least].seconds)
            least = i;
    }
    return least;
}

struct profile_finding *finder_add(struct finder *finder, enum profile_finding_kind kind,
                                   double seconds, int rank, const struct profile_callsite *site)
{
    int place = finder->count;
    if (place == FINDER_ROOM) {
        place = find_least_finding(finder);
        if (finder->found[place].seconds >= seconds)
            return NULL;
    } else {
        finder->count++;
    }
    finder->causes[place] = -1;
    finder->found[place] = (struct profile_finding){.kind = kind,
                                                    .seconds = seconds,
                                                    .share = seconds / finder->elapsed,
                                                    .rank = rank,
                                                    .peer = -1,
                                                    .site = site,
                                                    .advice = ""};
    return &finder->found[place];
}

void finder_blame(struct finder *finder, const struct profile_finding *finding, int rank)
{
    finder->causes[finding - finder->found] = rank;
}

const char *const finder_advice_off =
    "Profile all ranks during the same part of the run: call MPI_Pcontrol at the same places on "
    "every rank.";

/* ---- Wording --------------------------------------------------------------------------------- */

void finder_describe_place(const struct profile_callsite *site, char *place, size_t size)
{
    const struct profile_frame *frame = site && site->frame_count ? site->frames : NULL;
    if (!frame)
        snprintf(place, size, "?");
    else if (frame->file && frame->line > 0)
        snprintf(place, size, "%s:%d%s%s", qmpi_text_base_name(frame->file), frame->line,
                 frame->names_module ? " in " : "",
                 frame->names_module ? qmpi_text_base_name(frame->module) : "");
    else
        snprintf(place, size, "%s+0x%llx",
                 *frame->module ? qmpi_text_base_name(frame->module) : "?",
                 (unsigned long long)frame->offset);
}

enum { PLACE = '\1' /* stands for the place in a formatted summary */ };

/* Cuts the end of a long name of a file in a place, and keeps what follows the name, such as
 * ":83". */
static void cut_name(char *place)
{
    enum { LONGEST_NAME = 40 };
    const char *end = place + strcspn(place, ":+");
    if (end - place <= LONGEST_NAME)
        return;
    memcpy(place + LONGEST_NAME - 3, "...", 3);
    memmove(place + LONGEST_NAME, end, strlen(end) + 1);
}

static void insert_place(char *to, size_t size, const char *text, const char *place)
{
    const char *mark = strchrnul(text, PLACE);
    snprintf(to, size, "%.*s%s%s", (int)(mark - text), text, *mark ? place : "",
             *mark ? mark + 1 : "");
}

void finder_summarize(struct profile_finding *finding, const char *format, ...)
{
    char place[512], text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    finder_describe_place(finding->site, place, sizeof place);
    insert_place(finding->summary, sizeof finding->summary, text, place);
    cut_name(place);
    insert_place(finding->brief, sizeof finding->brief, text, place);
}

const char *finder_amount(const struct finder *finder, double seconds)
{
    static _Thread_local char texts[8][32];
    static _Thread_local unsigned next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof *texts, "%s (%.0f %%)", units_time(seconds),
             100 * seconds / finder->elapsed);
    return text;
}

/* ---- Functions and call sites ---------------------------------------------------------------- */

const struct profile_process *finder_process(const struct finder *finder, int rank)
{
    const struct profile_process wanted = {.rank = rank}, *key = &wanted;
    const struct profile_process **found =
        bsearch(&key, finder->processes, finder->result->process_count, sizeof *finder->processes,
                compare_ranks);
    return found ? *found : NULL;
}

double finder_useful(const struct finder *finder, int rank)
{
    const struct profile_process *process = finder_process(finder, rank);
    return process ? process->useful : 0;
}

double finder_off(const struct finder *finder, int rank)
{
    const struct profile_process *process = finder_process(finder, rank);
    const double off = process ? profile_efficiency_off(finder->result, process) : 0;
    return off < 0.01 * finder->elapsed ? 0 : off;
}

double finder_elsewhere(const struct finder *finder, int rank)
{
    const struct profile_process *process = finder_process(finder, rank);
    const double inside = process && rank >= 0 ? finder->in_collectives[rank].time : 0;
    return process ? fmax(process->application - inside, 0) : 0;
}

/* The useful time of a process is the mean over its threads: application - mpi / threads. The
 * number of threads follows from this. */
double finder_threads(const struct finder *finder, int rank)
{
    const struct profile_process *process = finder_process(finder, rank);
    return process ? divide_threads(process->mpi, process->application - process->useful) : 1;
}

const struct profile_function *finder_function(const struct finder *finder, const char *name)
{
    for (size_t i = 0; i < finder->result->function_count; i++) {
        if (!strcmp(finder->result->functions[i].name, name))
            return &finder->result->functions[i];
    }
    return NULL;
}

const struct profile_callsite *finder_longest(const struct finder *finder, const char *function)
{
    const struct profile_callsite *longest = NULL;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        if (!strcmp(site->name, function) &&
            (!longest || site->calls.time.sum > longest->calls.time.sum))
            longest = site;
    }
    return longest;
}

bool finder_is_in(const struct finder *finder, const char *function, const char *group)
{
    const struct profile_function *found = finder_function(finder, function);
    return found && !strcmp(found->group, group);
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

double finder_total(const struct profile_rank_calls *calls)
{
    return calls->time + calls->wait;
}

static int compare_totals(const void *a, const void *b)
{
    const struct profile_rank_calls *mine = a, *its = b;
    if (finder_total(mine) != finder_total(its))
        return finder_total(mine) < finder_total(its) ? -1 : 1;
    return (mine->rank > its->rank) - (mine->rank < its->rank);
}

/* ---- Calls in flight ------------------------------------------------------------------------- */

bool finder_is_flight_of(const struct profile_flight *flight, const struct profile_callsite *site)
{
    int i = 0, k = 0;
    if (strcmp(flight->name, site->name) != 0)
        return false;
    for (;; i++, k++) {
        while (i < flight->frame_count && flight->frames[i].inlined)
            i++;
        while (k < site->frame_count && site->frames[k].inlined)
            k++;
        if (i == flight->frame_count || k == site->frame_count)
            return i == flight->frame_count && k == site->frame_count;
        if (flight->frames[i].offset != site->frames[k].offset ||
            strcmp(flight->frames[i].module, site->frames[k].module) != 0)
            return false;
    }
}

/* Subtracts the times of calls that have not ended, because another rule reports these. */
static void subtract_flights(struct finder_ranks *ranks, const struct profile_result *result,
                             const char *name, const struct profile_callsite *site)
{
    for (size_t i = 0; i < result->flight_count; i++) {
        const struct profile_flight *flight = &result->flights[i];
        if (site ? !finder_is_flight_of(flight, site) : strcmp(flight->name, name) != 0)
            continue;
        ranks->sum.time -= flight->time;
        for (int k = 0; k < ranks->count; k++) {
            struct profile_rank_calls *it = &ranks->all[k];
            double *time = flight->waits ? &it->wait : &it->time;
            if (it->rank == flight->rank)
                *time = *time > flight->time ? *time - flight->time : 0;
        }
    }
}

/* ---- One function or call site --------------------------------------------------------------- */

static void set_sum(struct finder_ranks *ranks, const struct profile_calls *calls)
{
    ranks->sum = (struct finder_rank_sum){.time = calls->time.sum + calls->wait.sum,
                                          .bytes = (double)calls->sent + (double)calls->received,
                                          .calls = calls->calls};
}

static void set_others(struct finder_ranks *ranks, int callers)
{
    enum { HALF = PROFILE_OUTLIERS / 2 };
    struct finder_rank_sum rest = ranks->sum;
    ranks->others = callers > ranks->count ? callers - ranks->count : 0;
    if (!ranks->others)
        return;
    for (int i = 0; i < ranks->count; i++) {
        rest.time -= finder_total(&ranks->all[i]);
        rest.bytes -= (double)ranks->all[i].sent + (double)ranks->all[i].received;
        rest.calls -= ranks->all[i].calls < rest.calls ? ranks->all[i].calls : rest.calls;
    }
    const double mean = rest.time > 0 ? rest.time / ranks->others : 0;
    ranks->mean = (struct finder_rank_sum){.time = mean,
                                           .bytes = rest.bytes > 0 ? rest.bytes / ranks->others : 0,
                                           .calls = rest.calls / (uint64_t)ranks->others};
    ranks->low = ranks->high = mean;
    if (ranks->count == PROFILE_OUTLIERS) {
        ranks->low = finder_total(&ranks->all[HALF - 1]);
        ranks->high = finder_total(&ranks->all[HALF]);
    }
}

static void divide_by_threads(const struct finder *finder, struct finder_ranks *ranks)
{
    ranks->sum.time /= finder->threads;
    for (int i = 0; i < ranks->count; i++) {
        const double threads = finder_threads(finder, ranks->all[i].rank);
        ranks->all[i].time /= threads;
        ranks->all[i].wait /= threads;
    }
}

/* `site` is NULL for the calls of a function. */
static void gather_ranks(const struct finder *finder, struct finder_ranks *ranks, const char *name,
                         const struct profile_callsite *site, const struct profile_calls *calls,
                         const struct profile_by_rank *callers, int caller_count)
{
    const struct profile_result *result = finder->result;
    *ranks = (struct finder_ranks){.count = 0};
    set_sum(ranks, calls);
    if (callers->count) {
        ranks->count = (int)callers->count;
        memcpy(ranks->all, callers->all, callers->count * sizeof *callers->all);
    } else if (result->ranks == 1 && result->process_count) {
        ranks->count = 1;
        ranks->all[0] = (struct profile_rank_calls){.rank = result->processes->rank,
                                                    .calls = calls->calls,
                                                    .time = calls->time.sum,
                                                    .wait = calls->wait.sum,
                                                    .sent = calls->sent,
                                                    .received = calls->received};
    }
    subtract_flights(ranks, result, name, site);
    divide_by_threads(finder, ranks);
    if (ranks->count > 1)
        qsort(ranks->all, (size_t)ranks->count, sizeof *ranks->all, compare_totals);
    set_others(ranks, caller_count);
}

void finder_ranks_of_site(const struct finder *finder, const struct profile_callsite *site,
                          struct finder_ranks *ranks)
{
    gather_ranks(finder, ranks, site->name, site, &site->calls, &site->callers, site->ranks);
}

void finder_ranks_of_function(const struct finder *finder, const struct profile_function *function,
                              struct finder_ranks *ranks)
{
    gather_ranks(finder, ranks, function->name, NULL, &function->calls, &function->callers,
                 function->ranks);
}

const struct profile_rank_calls *finder_rank(const struct finder_ranks *ranks, int rank)
{
    for (int i = 0; i < ranks->count; i++) {
        if (ranks->all[i].rank == rank)
            return &ranks->all[i];
    }
    return NULL;
}

double finder_longest_rank(const struct finder *finder, const struct profile_callsite *site,
                           int *rank)
{
    struct finder_ranks ranks;
    finder_ranks_of_site(finder, site, &ranks);
    *rank = ranks.count ? ranks.all[ranks.count - 1].rank : site->calls.time.max_rank;
    return ranks.count ? ranks.all[ranks.count - 1].time
                       : site->calls.time.max / finder_threads(finder, *rank);
}

/* ---- Missing ranks --------------------------------------------------------------------------- */

size_t finder_count_missing(const struct profile_result *result)
{
    for (size_t i = 0; i < result->communicator_count; i++) {
        const struct profile_communicator *comm = &result->communicators[i];
        if (!strcmp(comm->name, "MPI_COMM_WORLD") && (size_t)comm->size > result->process_count)
            return (size_t)comm->size - result->process_count;
    }
    return 0;
}

/* ---- Several functions ----------------------------------------------------------------------- */

/* Adds the calls of a function by rank. If all ranks called the function, the mean is added for
 * each rank whose own calls are unknown. */
static void add_rank_sums(struct finder_rank_sum *sums, int count,
                          const struct profile_result *result, const struct finder_ranks *ranks)
{
    for (int i = 0; i < ranks->count; i++) {
        const struct profile_rank_calls *it = &ranks->all[i];
        if (it->rank < 0 || it->rank >= count)
            continue;
        sums[it->rank].time += it->time;
        sums[it->rank].bytes += (double)it->sent + (double)it->received;
        sums[it->rank].calls += it->calls;
    }
    if (!ranks->others || (size_t)(ranks->count + ranks->others) != result->process_count)
        return;
    for (size_t i = 0; i < result->process_count; i++) {
        const int rank = result->processes[i].rank;
        if (finder_rank(ranks, rank))
            continue;
        sums[rank].time += ranks->mean.time;
        sums[rank].bytes += ranks->mean.bytes;
        sums[rank].calls += ranks->mean.calls;
    }
}

int finder_count_ranks(const struct profile_result *result)
{
    int count = result->ranks;
    for (size_t i = 0; i < result->process_count; i++)
        count = result->processes[i].rank >= count ? result->processes[i].rank + 1 : count;
    return count;
}

struct finder_rank_sum *finder_sum_ranks(struct finder *finder, finder_matcher *matches,
                                         struct finder_rank_sum *all)
{
    const struct profile_result *result = finder->result;
    const int count = finder_count_ranks(result);
    struct finder_rank_sum *sums = calloc((size_t)count, sizeof *sums);
    finder->good = finder->good && sums;
    *all = (struct finder_rank_sum){0, 0, 0};
    for (size_t i = 0; sums && i < result->function_count; i++) {
        struct finder_ranks ranks;
        if (!matches(finder, result->functions[i].name))
            continue;
        finder_ranks_of_function(finder, &result->functions[i], &ranks);
        add_rank_sums(sums, count, result, &ranks);
        all->time += ranks.sum.time;
        all->bytes += ranks.sum.bytes;
        all->calls += ranks.sum.calls;
    }
    return sums;
}

const struct profile_callsite *finder_find_site(const struct finder *finder,
                                                finder_matcher *matches)
{
    const struct profile_callsite *longest = NULL;
    for (size_t i = 0; i < finder->result->callsite_count; i++) {
        const struct profile_callsite *site = &finder->result->callsites[i];
        if (matches(finder, site->name) &&
            (!longest || site->calls.time.max > longest->calls.time.max))
            longest = site;
    }
    return longest;
}

/* ---- Kinds of functions ---------------------------------------------------------------------- */

QMPIX_Traits finder_traits(const char *function)
{
    QMPIX_Traits traits;
    standard_find_traits(function, &traits);
    return traits;
}

static bool is_send(const char *function)
{
    return finder_traits(function).role == QMPIX_ROLE_SEND;
}

/* Returns whether the rank receives messages from the peer. */
static bool receives_from(const struct finder *finder, int rank, int peer)
{
    const struct profile_matrix_entry wanted = {.from = peer, .to = rank}, *key = &wanted;
    return bsearch(&key, finder->matrix, finder->result->matrix_entry_count, sizeof *finder->matrix,
                   compare_pairs) != NULL;
}

bool finder_is_message(const char *function)
{
    switch (finder_traits(function).role) {
    case QMPIX_ROLE_SEND:
    case QMPIX_ROLE_RECEIVE:
    case QMPIX_ROLE_SENDRECV:
    case QMPIX_ROLE_PROBE:
    case QMPIX_ROLE_MATCHED_PROBE:
    case QMPIX_ROLE_MATCHED_RECEIVE:
        return true;
    default:
        return false;
    }
}

/* A call that completes requests may complete sends or receives. If the rank receives nothing from
 * the peer, the requests are sends, unless the peer is unknown. */
bool finder_awaits_receiver(const struct finder *finder, const struct profile_callsite *site,
                            int rank, int peer)
{
    return is_send(site->name) ||
           (peer >= 0 && !finder_is_message(site->name) && !receives_from(finder, rank, peer));
}

bool finder_is_collective(const struct finder *finder, const char *function)
{
    return finder_traits(function).flags & QMPIX_TRAIT_COLLECTIVE ||
           finder_is_in(finder, function, "collective");
}

double finder_access_bytes(const struct finder *finder)
{
    const struct profile_result *result = finder->result;
    double bytes = 0;
    for (size_t i = 0; i < result->function_count; i++) {
        const struct profile_calls *calls = &result->functions[i].calls;
        if (!strcmp(result->functions[i].group, "one-sided"))
            bytes += (double)calls->sent + (double)calls->received;
    }
    return result->ranks > 1 ? 2 * bytes / result->ranks : bytes;
}

bool finder_makes_objects(const struct finder *finder, const char *function)
{
    static const char *const others[] = {"MPI_Type_commit", "MPI_Type_free", "MPI_Comm_free",
                                         "MPI_Group_free",  "MPI_Info_free", "MPI_Op_free"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!strcmp(function, others[i]))
            return true;
    }
    return finder_traits(function).flags & QMPIX_TRAIT_CREATES &&
           (finder_is_in(finder, function, "datatype") ||
            finder_is_in(finder, function, "communicator") ||
            finder_is_in(finder, function, "group") || finder_is_in(finder, function, "topology") ||
            finder_is_in(finder, function, "info"));
}

/* ---- Neighbours ------------------------------------------------------------------------------ */

/* Returns the index in finder->matrix of the first pair from `rank`. */
static size_t find_pairs(const struct finder *finder, int rank)
{
    size_t first = 0, end = finder->result->matrix_entry_count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (finder->matrix[middle]->from < rank)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static void take_busier(const struct finder *finder, int neighbor, int rank, int *busiest,
                        double *most)
{
    const double useful = neighbor == rank ? -1 : finder_useful(finder, neighbor);
    if (useful > *most) {
        *most = useful;
        *busiest = neighbor;
    }
}

int finder_busiest_neighbor(const struct finder *finder, int rank)
{
    const struct profile_result *result = finder->result;
    double most = -1;
    int busiest = -1;
    for (size_t i = find_pairs(finder, rank);
         i < result->matrix_entry_count && finder->matrix[i]->from == rank; i++)
        take_busier(finder, finder->matrix[i]->to, rank, &busiest, &most);
    for (size_t i = 0; i < result->process_count; i++) {
        if (receives_from(finder, rank, result->processes[i].rank))
            take_busier(finder, result->processes[i].rank, rank, &busiest, &most);
    }
    return busiest;
}

/* ---- The start of the run -------------------------------------------------------------------- */

/* Returns the time of a rank at a call site or, if it is unknown, the mean of the ranks whose times
 * are unknown. */
static double time_at_site(const struct finder *finder, const struct profile_callsite *site,
                           int rank)
{
    struct finder_ranks ranks;
    finder_ranks_of_site(finder, site, &ranks);
    const struct profile_rank_calls *it = finder_rank(&ranks, rank);
    return it ? finder_total(it) : ranks.mean.time;
}

double finder_subtract_startup(const struct finder *finder, const struct profile_callsite *site,
                               struct finder_wait wait)
{
    const struct finder_startup *startup = &finder->startup;
    if (wait.cause == -1 || startup->rank != wait.cause)
        return wait.seconds;
    if (startup->site == site)
        return fmax(wait.seconds - startup->seconds, 0);
    const double rest = startup->seconds - time_at_site(finder, startup->site, wait.rank);
    return wait.seconds > 0.5 * rest && wait.seconds < 1.1 * rest ? 0 : wait.seconds;
}
