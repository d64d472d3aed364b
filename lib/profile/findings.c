/* SPDX-License-Identifier: MIT */
/* See findings.h: the list, its order, and how findings are worded. */
#define _GNU_SOURCE
#include "profile/findings.h"

#include "profile/findings_parts.h"
#include "profile/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shorter times are those of starting and ending, or of other programs on the machine. */
static const double least_seconds = 0.01;

/* ---- The list -------------------------------------------------------------------------------- */

static int find_least(const struct finder *finder)
{
    int least = 0;
    for (int i = 1; i < finder->count; i++) {
        if (finder->found[i].seconds < finder->found[least].seconds)
            least = i;
    }
    return least;
}

struct profile_finding *finder_add(struct finder *finder, const char *kind, double seconds,
                                   int rank, const struct profile_callsite *site)
{
    int place = finder->count;
    if (place == FINDER_ROOM) {
        place = find_least(finder);
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

/* ---- Words ----------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "ocean.c:83", "app+0x51c". */
static void describe_place(const struct profile_callsite *site, char *place, size_t size)
{
    const struct profile_frame *frame = site && site->frame_count ? site->frames : NULL;
    if (!frame)
        snprintf(place, size, "?");
    else if (frame->file && frame->line > 0)
        snprintf(place, size, "%s:%d", base_name(frame->file), frame->line);
    else
        snprintf(place, size, "%s+0x%llx", *frame->module ? base_name(frame->module) : "?",
                 (unsigned long long)frame->offset);
}

/* In a formatted summary: the place, and the begin and the end of what can be left out. */
enum { PLACE = '\1', OPTIONAL = '\2', REQUIRED = '\3' };

/* Copies the text without its marks for what is optional, and without what is if it `is_short`. */
static void copy_text(char *to, const char *text, bool is_short)
{
    bool is_optional = false;
    for (; *text; text++) {
        if (*text == OPTIONAL || *text == REQUIRED)
            is_optional = *text == OPTIONAL;
        else if (!is_optional || !is_short)
            *to++ = *text;
    }
    *to = '\0';
}

/* Puts in as much of the end of the place as there is room for. False: not all of it. */
static bool insert_place(struct profile_finding *finding, const char *text, const char *place)
{
    const char *mark = strchrnul(text, PLACE);
    const size_t size = sizeof finding->summary;
    const size_t rest = strlen(text) - (*mark != '\0'), length = *mark ? strlen(place) : 0;
    const size_t room = rest < PROFILE_FINDING_LINE ? PROFILE_FINDING_LINE - rest : 0;
    const bool fits = length <= room;
    const bool is_cut = !fits && room > 3;
    const char *end = is_cut ? place + length - (room - 3) : place;
    snprintf(finding->summary, size, "%.*s%s%.*s%s", (int)(mark - text), text, is_cut ? "..." : "",
             (int)(length ? room : 0), end, *mark ? mark + 1 : "");
    return fits;
}

void finder_summarize(struct profile_finding *finding, const char *format, ...)
{
    char place[512], text[512], copy[sizeof text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    describe_place(finding->site, place, sizeof place);
    copy_text(copy, text, false);
    if (insert_place(finding, copy, place))
        return;
    copy_text(copy, text, true);
    insert_place(finding, copy, place);
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

/* ---- What rules ask -------------------------------------------------------------------------- */

double finder_useful(const struct finder *finder, int rank)
{
    for (size_t i = 0; i < finder->result->process_count; i++) {
        if (finder->result->processes[i].rank == rank)
            return finder->result->processes[i].useful;
    }
    return 0;
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

/* ---- All of it ------------------------------------------------------------------------------- */

static const char *host_of(const struct profile_result *result, int rank)
{
    for (size_t i = 0; i < result->process_count; i++) {
        if (result->processes[i].rank == rank)
            return result->processes[i].host;
    }
    return "";
}

/* Whether one is the consequence of the other: ranks wait for those of a slow node. */
static bool is_consequence(const struct finder *finder, int it, int cause)
{
    if (strcmp(finder->found[cause].kind, "slow-node") != 0 || finder->causes[it] < 0)
        return false;
    return !strcmp(host_of(finder->result, finder->causes[it]),
                   host_of(finder->result, finder->found[cause].rank));
}

static bool has_cause(const struct finder *finder, int it)
{
    for (int i = 0; i < finder->count; i++) {
        if (i != it && is_consequence(finder, it, i))
            return true;
    }
    return false;
}

/* Most time first; else in the order in which they were found. */
static int compare_findings(const void *a, const void *b)
{
    const struct profile_finding *mine = *(struct profile_finding *const *)a;
    const struct profile_finding *its = *(struct profile_finding *const *)b;
    if (mine->seconds != its->seconds)
        return mine->seconds < its->seconds ? 1 : -1;
    return (mine > its) - (mine < its);
}

static void choose(const struct finder *finder, struct profile_findings *findings)
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

static double threshold(int percent, int standard)
{
    return (percent ? percent : standard) / 100.0;
}

bool profile_findings_find(const struct profile_result *result, struct profile_findings *findings)
{
    findings->count = 0;
    if (!(result->application.max > 0))
        return false;
    struct finder *finder = calloc(1, sizeof *finder);
    if (!finder)
        return false;
    const double part =
        threshold(result->thresholds.any, PROFILE_THRESHOLD) * result->application.max;
    finder->result = result;
    finder->elapsed = result->application.max;
    finder->init_part = threshold(result->thresholds.init, PROFILE_INIT_THRESHOLD);
    finder->least = part > least_seconds ? part : least_seconds;
    finder->good = true;
    findings_startup(finder);
    findings_nodes(finder);
    findings_files(finder);
    findings_objects(finder);
    findings_polling(finder);
    findings_messages(finder);
    findings_waits(finder);
    findings_collectives(finder);
    findings_ends(finder);
    const bool good = finder->good;
    if (good)
        choose(finder, findings);
    free(finder);
    return good;
}

bool profile_findings_need_sites(const struct profile_result *result)
{
    return result->function_count && !result->callsite_count;
}
