/* SPDX-License-Identifier: MIT */
/* See findings.h: all rules in their order, the choice among what they find, and the absence of
 * findings. */
#define _GNU_SOURCE
#include "tools/profile/result/findings.h"

#include "tools/profile/result/budget.h"
#include "tools/profile/result/efficiency.h"
#include "tools/profile/result/finder.h"
#include "tools/profile/result/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rules and choice ------------------------------------------------------------------------ */

static const char *host_of_rank(const struct profile_result *result, int rank)
{
    for (size_t i = 0; i < result->process_count; i++) {
        if (result->processes[i].rank == rank)
            return result->processes[i].host;
    }
    return "";
}

static double queued_time(const struct profile_result *result, int rank)
{
    for (size_t i = 0; i < result->process_count; i++) {
        if (result->processes[i].rank == rank)
            return result->processes[i].queued;
    }
    return 0;
}

/* Ranks that wait for a rank of a slow node, or for one that has no processor in this time, are a
 * consequence. */
static bool is_consequence(const struct finder *finder, int it, int cause)
{
    const char *kind = finder->found[cause].kind;
    const int awaited = finder->causes[it];
    if (awaited < 0)
        return false;
    if (!strcmp(kind, "no-processor"))
        return finder->found[it].seconds - queued_time(finder->result, awaited) < finder->least;
    return !strcmp(kind, "slow-node") &&
           !strcmp(host_of_rank(finder->result, awaited),
                   host_of_rank(finder->result, finder->found[cause].rank));
}

static bool has_cause(const struct finder *finder, int it)
{
    for (int i = 0; i < finder->count; i++) {
        if (i != it && is_consequence(finder, it, i))
            return true;
    }
    return false;
}

/* Most time first; findings with equal times in the order in which they were found. */
static int compare_findings(const void *a, const void *b)
{
    const struct profile_finding *mine = *(struct profile_finding *const *)a;
    const struct profile_finding *its = *(struct profile_finding *const *)b;
    if (mine->seconds != its->seconds)
        return mine->seconds < its->seconds ? 1 : -1;
    return (mine > its) - (mine < its);
}

static void choose_findings(const struct finder *finder, struct profile_findings *findings)
{
    const struct profile_finding *order[FINDER_ROOM];
    size_t count = 0;
    for (int i = 0; i < finder->count; i++) {
        if (!has_cause(finder, i))
            order[count++] = &finder->found[i];
    }
    qsort(order, count, sizeof *order, compare_findings);
    for (size_t i = 0; i < count && findings->count < PROFILE_FINDINGS_MOST; i++)
        findings->all[findings->count++] = *order[i];
}

bool profile_findings_find(const struct profile_result *result, struct profile_findings *findings)
{
    findings->count = 0;
    if (!(result->application.max > 0))
        return false;
    struct finder *finder = finder_make(result);
    if (!finder)
        return false;
    finder_rule_startup(finder);
    finder_rule_flights(finder);
    finder_rule_nodes(finder);
    finder_rule_processors(finder);
    finder_rule_files(finder);
    finder_rule_objects(finder);
    finder_rule_polling(finder);
    finder_rule_messages(finder);
    finder_rule_waits(finder);
    finder_rule_access(finder);
    finder_rule_collectives(finder);
    finder_rule_ends(finder);
    finder_rule_rest(finder);
    const bool good = finder->good;
    if (good)
        choose_findings(finder, findings);
    free(finder);
    return good;
}

/* ---- No findings ----------------------------------------------------------------------------- */

/* Returns the number of processes of MPI_COMM_WORLD whose data is missing, as far as is known. */
static size_t count_missing(const struct profile_result *result)
{
    for (size_t i = 0; i < result->communicator_count; i++) {
        const struct profile_communicator *comm = &result->communicators[i];
        if (!strcmp(comm->name, "MPI_COMM_WORLD") && (size_t)comm->size > result->process_count)
            return (size_t)comm->size - result->process_count;
    }
    return 0;
}

bool profile_findings_describe_gap(const struct profile_result *result, bool others, char *text,
                                   size_t size)
{
    const size_t missing = count_missing(result);
    const char *which = others ? "other " : "";
    if (result->function_count && !result->callsite_count && !result->is_filtered)
        snprintf(text, size,
                 "most %sproblems cannot be found, because no call sites were recorded "
                 "(trace,sites=yes records them)",
                 which);
    else if (missing)
        snprintf(text, size,
                 "most %sproblems cannot be found, because the data of %zu of %zu processes is "
                 "missing",
                 which, missing, missing + result->process_count);
    else
        return false;
    return true;
}

static bool is_inefficient(const struct profile_result *result)
{
    struct profile_efficiency efficiency;
    return profile_efficiency_find(result, NULL, &efficiency) &&
           efficiency.parallel < PROFILE_EFFICIENCY_GOOD;
}

/* Finds the largest part of the loss. Returns false if the budget is not known. */
static bool find_largest_loss(const struct profile_result *result, enum profile_budget_part *part,
                              double *share)
{
    struct profile_budget budget;
    enum profile_budget_part order[PROFILE_BUDGET_PARTS];
    if (!profile_budget_find(result, &budget))
        return false;
    profile_budget_order(&budget, order);
    *part = order[1];
    *share = budget.items[order[1]].share;
    return true;
}

static bool is_worth_attention(const struct profile_result *result, double share)
{
    return share >= finder_threshold(result) &&
           share * result->application.max >= finder_least_seconds(result);
}

const char *profile_findings_describe_none(const struct profile_result *result, char *text,
                                           size_t size)
{
    enum profile_budget_part part;
    double share;
    if (profile_findings_describe_gap(result, false, text, size))
        return text;
    if (result->is_filtered)
        snprintf(text, size, "no problems found in the selected functions");
    else if (find_largest_loss(result, &part, &share) && is_worth_attention(result, share))
        snprintf(text, size, "no single problem takes at least %s; most time is lost to \"%s\"",
                 units_time(finder_least_seconds(result)), profile_budget_describe(part));
    else if (is_inefficient(result))
        snprintf(text, size, "no problem takes at least %s, the limit for findings",
                 units_time(finder_least_seconds(result)));
    else
        snprintf(text, size, "no problems found");
    return text;
}
