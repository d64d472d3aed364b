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

static const char *host_of_rank(const struct finder *finder, int rank)
{
    const struct profile_process *process = finder_process(finder, rank);
    return process ? process->host : "";
}

static double queued_time(const struct finder *finder, int rank)
{
    const struct profile_process *process = finder_process(finder, rank);
    return process ? process->queued : 0;
}

/* Returns whether the finding `it` is a consequence of the finding `cause`. This is so in three
 * cases: `cause` explains `it` (finder_explains); `cause` is about missing processors, and the rank
 * for which others wait in `it` lacked one for about as long; or that rank is on the slow node that
 * `cause` names. */
static bool is_consequence(const struct finder *finder, int it, int cause)
{
    const enum profile_finding_kind kind = finder->found[cause].kind;
    const int awaited = finder->causes[it];
    if (awaited < 0)
        return false;
    if (finder_explains(finder, cause, it))
        return true;
    if (kind == FINDING_NO_PROCESSOR)
        return finder->found[it].seconds - queued_time(finder, awaited) < finder->least;
    return kind == FINDING_SLOW_NODE &&
           !strcmp(host_of_rank(finder, awaited), host_of_rank(finder, finder->found[cause].rank));
}

static bool has_cause(const struct finder *finder, int it)
{
    for (int i = 0; i < finder->count; i++) {
        if (i != it && is_consequence(finder, it, i))
            return true;
    }
    return false;
}

/* A finding with `is_first` comes first. The other findings are ordered by time, longest first, and
 * those with equal times in the order in which they were found. */
static int compare_findings(const void *a, const void *b)
{
    const struct profile_finding *mine = *(struct profile_finding *const *)a;
    const struct profile_finding *its = *(struct profile_finding *const *)b;
    if (mine->is_first != its->is_first)
        return mine->is_first ? -1 : 1;
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
    finder_rule_bottleneck(finder);
    finder_rule_ends(finder);
    finder_rule_causes(finder);
    finder_rule_serial_io(finder);
    finder_rule_where(finder);
    finder_rule_rest(finder);
    finder_rule_leaks(finder);
    const bool good = finder->good;
    if (good)
        choose_findings(finder, findings);
    finder_free(finder);
    return good;
}

/* ---- No findings ----------------------------------------------------------------------------- */

bool profile_findings_describe_gap(const struct profile_result *result, bool others, char *text,
                                   size_t size)
{
    const size_t missing = finder_count_missing(result);
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

/* In a run without problems, each part of the loss takes less than this share of the time, whatever
 * the threshold for findings is. */
#define LEAST_LOSS 0.05

bool profile_findings_are_unneeded(const struct profile_result *result)
{
    struct profile_efficiency efficiency;
    struct profile_budget budget;
    if (profile_efficiency_find(result, NULL, &efficiency) &&
        efficiency.parallel < PROFILE_EFFICIENCY_GOOD)
        return false;
    if (!profile_budget_find(result, &budget))
        return true;
    for (int part = PROFILE_BUDGET_USEFUL + 1; part < PROFILE_BUDGET_PARTS; part++) {
        if (budget.items[part].share >= LEAST_LOSS)
            return false;
    }
    return true;
}

/* Appends to a text, which is cut off if there is no room. */
static void append(char *text, size_t size, const char *format, ...)
{
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

/* Names the largest part of the loss, and the call sites that take most of it. */
static void describe_loss(const struct profile_result *result, char *text, size_t size)
{
    struct profile_budget budget;
    enum profile_budget_part order[PROFILE_BUDGET_PARTS];
    if (!profile_budget_find(result, &budget))
        return;
    profile_budget_order(&budget, order);
    const struct profile_budget_item *item = &budget.items[order[1]];
    append(text, size, "; the largest loss is \"%s\", %.0f %% of the time",
           profile_budget_describe(order[1]), 100 * item->share);
    for (int i = 0; i < item->place_count; i++) {
        const struct profile_budget_place *it = &item->places[i];
        char place[96] = "";
        if (it->site)
            finder_describe_place(it->site, place, sizeof place);
        append(text, size, "%s%s%s%s (%.0f %%)", i ? ", " : ": ", it->name, *place ? " at " : "",
               place, 100 * it->seconds / budget.total);
    }
}

const char *profile_findings_describe_none(const struct profile_result *result, char *text,
                                           size_t size)
{
    if (profile_findings_describe_gap(result, false, text, size))
        return text;
    if (result->is_filtered) {
        snprintf(text, size, "no problems found in the selected functions");
    } else if (profile_findings_are_unneeded(result)) {
        snprintf(text, size, "no problems found");
    } else {
        snprintf(text, size, "no single problem takes at least %s, the limit for findings",
                 units_time(finder_least_seconds(result)));
        describe_loss(result, text, size);
    }
    return text;
}
