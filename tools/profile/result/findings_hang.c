/* SPDX-License-Identifier: MIT */
/*
 * See finder.h: calls that had not ended when the data of their processes was saved. If the calls
 * of the ranks show why the run hangs or waits, one finding, the verdict, says so. It comes first
 * if the run can never go on. Each place where ranks that the verdict does not explain have been
 * for a long time has a finding of its own.
 */
#define _GNU_SOURCE
#include "tools/profile/result/finder.h"

#include "tools/profile/result/hang.h"
#include "tools/profile/result/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct profile_callsite *find_flight_site(const struct profile_result *result,
                                                       const struct profile_flight *flight)
{
    for (size_t i = 0; i < result->callsite_count; i++) {
        if (finder_is_flight_of(flight, &result->callsites[i]))
            return &result->callsites[i];
    }
    return NULL;
}

/* ---- The subject of the verdict -------------------------------------------------------------- */

enum cause {
    NOTHING,  /* There is no verdict. */
    MISMATCH, /* Ranks are in collective calls that do not belong together. */
    GONE,     /* Ranks wait for one that has ended, or is in MPI_Finalize. */
    CIRCLE,   /* Ranks wait for messages of each other. */
    ABSENT,   /* Ranks wait in a collective call for one that is stuck elsewhere. */
    NOT_YET,  /* Ranks wait for one that could still come. */
    NOT_KNOWN /* Ranks wait for one whose data is missing. */
};

struct verdict {
    enum cause cause;
    const struct hang *hang;
    int *waiters; /* the ranks in one call, or in a circle */
    int waiter_count;
    int other; /* the rank for which they wait, or that is in another call; -1: none */
};

static void wait_alone(struct verdict *verdict, int rank)
{
    verdict->waiters[0] = rank;
    verdict->waiter_count = 1;
}

static bool is_same_place(const struct profile_flight *mine, const struct profile_flight *its)
{
    if (strcmp(mine->name, its->name) != 0 || mine->frame_count != its->frame_count)
        return false;
    for (int i = 0; i < mine->frame_count; i++) {
        if (mine->frames[i].offset != its->frames[i].offset ||
            strcmp(mine->frames[i].module, its->frames[i].module) != 0)
            return false;
    }
    return true;
}

/* Sets the ranks that wait for the same as `rank`. In a collective call, these are all ranks in it.
 * In another call, these are the ranks at the same place whose first target (hang_first_target) is
 * the same. */
static void set_waiters(struct verdict *verdict, int rank)
{
    const struct hang *hang = verdict->hang;
    const struct hang_rank *it = &hang->ranks[rank];
    if (it->group >= 0) {
        const struct hang_group *group = &hang->groups[it->group];
        memcpy(verdict->waiters, group->ranks, (size_t)group->rank_count * sizeof *group->ranks);
        verdict->waiter_count = group->rank_count;
        return;
    }
    const int target = hang_first_target(hang, rank);
    wait_alone(verdict, rank);
    for (int other = 0; other < hang->count; other++) {
        const struct hang_rank *its = &hang->ranks[other];
        if (other != rank && its->state == HANG_WAITS && its->group < 0 &&
            is_same_place(its->flight, it->flight) && hang_first_target(hang, other) == target)
            verdict->waiters[verdict->waiter_count++] = other;
    }
}

static bool is_finalizing(const struct hang *hang, int rank)
{
    const struct hang_rank *it = &hang->ranks[rank];
    return it->group >= 0 && hang->groups[it->group].is_finalize;
}

/* ---- Ranks that are stuck -------------------------------------------------------------------- */

/* Among the stuck ranks for which `suits` returns true, returns the one whose collective call has
 * most ranks, or -1 if there is none. */
typedef bool rank_matcher(const struct hang *hang, int rank);
static int find_stuck(const struct hang *hang, rank_matcher *suits)
{
    int found = -1, most = -1;
    for (int rank = 0; rank < hang->count; rank++) {
        const struct hang_rank *it = &hang->ranks[rank];
        if (!it->is_stuck || !suits(hang, rank))
            continue;
        const int ranks = it->group >= 0 ? hang->groups[it->group].rank_count : 0;
        if (ranks > most) {
            most = ranks;
            found = rank;
        }
    }
    return found;
}

static bool is_mismatched(const struct hang *hang, int rank)
{
    return hang->ranks[rank].group >= 0 && hang_find_mismatch(hang, rank) >= 0;
}

static void look_for_finalizing(void *data, int rank, int target)
{
    const struct hang *hang = ((struct verdict *)data)->hang;
    (void)rank;
    if (hang->ranks[target].state != HANG_ENDED && is_finalizing(hang, target))
        ((struct verdict *)data)->other = target;
}

/* If `rank` waits for a rank that has ended or is in MPI_Finalize, returns that rank. Otherwise,
 * returns -1. */
static int find_gone(const struct hang *hang, int rank)
{
    struct verdict verdict = {.hang = hang, .other = -1};
    const int target = hang_first_target(hang, rank);
    if (target >= 0 && hang->ranks[target].state == HANG_ENDED)
        return target;
    if (!is_finalizing(hang, rank))
        hang_each_target(hang, rank, look_for_finalizing, &verdict);
    return verdict.other;
}

static bool waits_for_ended(const struct hang *hang, int rank)
{
    const int gone = find_gone(hang, rank);
    return gone >= 0 && hang->ranks[gone].state == HANG_ENDED;
}

static bool waits_for_gone(const struct hang *hang, int rank)
{
    return find_gone(hang, rank) >= 0;
}

static bool waits_for_absent(const struct hang *hang, int rank)
{
    return hang->ranks[rank].group >= 0 && hang_first_target(hang, rank) >= 0;
}

static bool is_in_message(const struct hang *hang, int rank)
{
    return hang->ranks[rank].is_stuck && hang->ranks[rank].group < 0;
}

/* The search for the first stuck target. With `wants_message`, targets in collective calls are
 * skipped. */
struct preference {
    const struct hang *hang;
    int rank;
    bool wants_message;
};

static void prefer(void *data, int rank, int target)
{
    struct preference *preference = data;
    (void)rank;
    if (preference->rank < 0 &&
        (preference->wants_message ? is_in_message(preference->hang, target)
                                   : preference->hang->ranks[target].is_stuck))
        preference->rank = target;
}

static int find_stuck_target(const struct hang *hang, int rank, bool wants_message)
{
    struct preference preference = {hang, -1, wants_message};
    hang_each_target(hang, rank, prefer, &preference);
    return preference.rank;
}

/* Goes from a rank that waits for a message to the rank for which it waits, and so on. If this
 * leads into a circle, sets the waiters to the ranks of the circle. Returns false if there is no
 * circle. */
static bool find_circle(struct verdict *verdict, int rank)
{
    const struct hang *hang = verdict->hang;
    int *path = verdict->waiters, count = 0;
    while (rank >= 0 && is_in_message(hang, rank) && count <= hang->count) {
        for (int i = 0; i < count; i++) {
            if (path[i] != rank)
                continue;
            verdict->waiter_count = count - i;
            memmove(path, path + i, (size_t)(count - i) * sizeof *path);
            return true;
        }
        path[count++] = rank;
        rank = find_stuck_target(hang, rank, true);
    }
    return false;
}

static bool find_any_circle(struct verdict *verdict)
{
    for (int rank = 0; rank < verdict->hang->count; rank++) {
        if (is_in_message(verdict->hang, rank) && find_circle(verdict, rank))
            return true;
    }
    return false;
}

static enum cause judge_stuck(struct verdict *verdict)
{
    const struct hang *hang = verdict->hang;
    int rank = find_stuck(hang, is_mismatched);
    if (rank >= 0) {
        set_waiters(verdict, rank);
        verdict->other = hang_find_mismatch(hang, rank);
        return MISMATCH;
    }
    rank = find_stuck(hang, waits_for_ended);
    if (rank < 0)
        rank = find_stuck(hang, waits_for_gone);
    if (rank >= 0) {
        set_waiters(verdict, rank);
        verdict->other = find_gone(hang, rank);
        return GONE;
    }
    if (find_any_circle(verdict))
        return CIRCLE;
    rank = find_stuck(hang, waits_for_absent);
    if (rank < 0)
        return NOTHING;
    set_waiters(verdict, rank);
    verdict->other = find_stuck_target(hang, rank, true);
    if (verdict->other < 0)
        verdict->other = find_stuck_target(hang, rank, false);
    return verdict->other < 0 ? NOTHING : ABSENT;
}

/* ---- Ranks that wait for one that may come --------------------------------------------------- */

static int find_longest(const struct hang *hang, double least)
{
    int longest = -1;
    for (int rank = 0; rank < hang->count; rank++) {
        const struct hang_rank *it = &hang->ranks[rank];
        if (it->state == HANG_WAITS && it->flight->time >= least &&
            (longest < 0 || it->flight->time > hang->ranks[longest].flight->time))
            longest = rank;
    }
    return longest;
}

/* Goes from the rank that has waited longest to the rank for which it waits, and so on, until a
 * rank does not wait, or waits for an unknown one. */
static enum cause judge_waiting(struct verdict *verdict, double least)
{
    const struct hang *hang = verdict->hang;
    int rank = find_longest(hang, least), target = -1;
    for (int i = 0; rank >= 0 && i < hang->count; i++) {
        target = hang_first_target(hang, rank);
        if (target < 0 || hang->ranks[target].state != HANG_WAITS)
            break;
        rank = target;
    }
    if (rank < 0 || target < 0 || hang->ranks[target].state == HANG_WAITS ||
        hang->ranks[rank].flight->time < least)
        return NOTHING;
    set_waiters(verdict, rank);
    verdict->other = target;
    return hang->ranks[target].state == HANG_MISSING ? NOT_KNOWN : NOT_YET;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Prints "rank 0", "ranks 0, 2" or "ranks 0-3, 7, ... (9 ranks)". The ranks are in order. */
static void print_ranks(FILE *text, const char *word, const int *ranks, int count)
{
    enum { RANGES_MOST = 5 };
    int ranges = 0;
    fprintf(text, "%s%s ", word, count == 1 ? "" : "s");
    for (int i = 0, end; i < count; i = end, ranges++) {
        for (end = i + 1; end < count && ranks[end] == ranks[end - 1] + 1; end++)
            ;
        if (ranges == RANGES_MOST) {
            fprintf(text, ", ... (%d ranks)", count);
            return;
        }
        end = end - i == 2 ? i + 1 : end;
        fprintf(text, end - i > 1 ? "%s%d-%d" : "%s%d", i ? ", " : "", ranks[i], ranks[end - 1]);
    }
}

/* Prints a call: "MPI_Recv from rank 0 (a.c:31)". */
static void print_call(FILE *text, const struct profile_flight *flight, bool with_root)
{
    char place[512];
    const struct profile_callsite site = {.frames = flight->frames,
                                          .frame_count = flight->frame_count};
    finder_describe_place(&site, place, sizeof place);
    fputs(flight->name, text);
    if (with_root && flight->root >= 0)
        fprintf(text, " with root %d", flight->root);
    hang_print_partners(text, flight, false);
    fprintf(text, " (%s)", place);
}

static const struct profile_flight *flight_of(const struct verdict *verdict, int rank)
{
    return verdict->hang->ranks[rank].flight;
}

static double find_time(const struct verdict *verdict)
{
    double time = 0;
    for (int i = 0; i < verdict->waiter_count; i++)
        time = fmax(time, flight_of(verdict, verdict->waiters[i])->time);
    return time;
}

/* Prints "Ranks 0, 2 have waited in MPI_Barrier (a.c:20) for 58 s". */
static void print_waiters(FILE *text, const struct verdict *verdict)
{
    print_ranks(text, "Rank", verdict->waiters, verdict->waiter_count);
    fprintf(text, " %s waited in ", verdict->waiter_count == 1 ? "has" : "have");
    print_call(text, flight_of(verdict, verdict->waiters[0]), false);
    fprintf(text, " for %s", units_time(find_time(verdict)));
}

/* Returns whether the two calls of a mismatch are of the same function, so that their roots differ.
 */
static bool is_root_different(const struct verdict *verdict)
{
    const struct profile_flight *mine = flight_of(verdict, verdict->waiters[0]);
    return !strcmp(mine->name, flight_of(verdict, verdict->other)->name);
}

/* Prints the ranks in the collective call of `rank`, and this call. */
static void print_group(FILE *text, const struct verdict *verdict, const char *word, int rank)
{
    const struct hang_group *group = &verdict->hang->groups[verdict->hang->ranks[rank].group];
    print_ranks(text, word, group->ranks, group->rank_count);
    if (rank != verdict->other)
        fprintf(text, " %s been", group->rank_count == 1 ? "has" : "have");
    fputs(" in ", text);
    print_call(text, flight_of(verdict, rank), is_root_different(verdict));
}

static void print_mismatch(FILE *text, const struct verdict *verdict)
{
    print_group(text, verdict, "Rank", verdict->waiters[0]);
    fprintf(text, " for %s, and ", units_time(find_time(verdict)));
    print_group(text, verdict, "rank", verdict->other);
    fprintf(text, ": %s",
            is_root_different(verdict) ? "the roots differ" : "these calls never meet");
}

static const char *describe_end(const struct hang_rank *rank)
{
    const char *how = rank->process->termination;
    return !strcmp(how, "exit")                   ? "has ended without MPI_Finalize"
           : !strcmp(how, "MPI_Finalize")         ? "has finalized MPI"
           : !strcmp(how, PROFILE_SESSIONS_ENDED) ? "has finalized its sessions"
                                                  : "was ended by a ";
}

/* Says what has not come, or never comes, from the rank for which others wait. */
static const char *describe_default(const struct verdict *verdict)
{
    const struct hang_rank *waiter = &verdict->hang->ranks[verdict->waiters[0]];
    const bool may_come = verdict->cause == NOT_YET;
    if (waiter->group >= 0)
        return may_come ? "it has not arrived" : "it never arrives";
    for (size_t i = 0; i < waiter->flight->await_count; i++) {
        if (waiter->flight->awaits[i].peer == verdict->other && waiter->flight->awaits[i].sending)
            return may_come ? "it has not received the message" : "it never receives the message";
    }
    return may_come ? "it has not sent the message" : "it never sends the message";
}

static void print_gone(FILE *text, const struct verdict *verdict)
{
    const struct hang_rank *other = &verdict->hang->ranks[verdict->other];
    print_waiters(text, verdict);
    fprintf(text, "; rank %d ", verdict->other);
    if (other->state == HANG_ENDED) {
        fputs(describe_end(other), text);
        if (!strncmp(other->process->termination, "signal ", strlen("signal ")))
            fputs(other->process->termination, text);
    } else {
        fputs("is in ", text);
        print_call(text, other->flight, false);
    }
    fprintf(text, ": %s", describe_default(verdict));
}

/* Returns the first message from or to `other` for which `rank` waits, or NULL. If `other` is -1,
 * returns the first message for which `rank` waits. */
static const struct profile_await *find_await(const struct verdict *verdict, int rank, int other)
{
    const struct profile_flight *flight = flight_of(verdict, rank);
    for (size_t i = 0; flight && i < flight->await_count; i++) {
        const struct profile_await *await = &flight->awaits[i];
        if (other < 0 || await->peer == other || (await->any && !await->sending))
            return await;
    }
    return NULL;
}

/* Returns how a send and a receive of two ranks differ, or NULL if both send, both receive, or no
 * difference is known. */
static const char *describe_difference(const struct verdict *verdict, int rank, int other)
{
    const struct profile_await *mine = find_await(verdict, rank, other);
    const struct profile_await *its = find_await(verdict, other, rank);
    if (!mine || !its || mine->sending == its->sending)
        return NULL;
    return mine->tag != its->tag && mine->tag >= 0 && its->tag >= 0 ? "tags"
           : mine->comm != its->comm                                ? "communicators"
                                                                    : NULL;
}

/* Returns how the messages of a circle of two ranks differ, or NULL. */
static const char *describe_circle_difference(const struct verdict *verdict)
{
    return verdict->waiter_count == 2
               ? describe_difference(verdict, verdict->waiters[0], verdict->waiters[1])
               : NULL;
}

static bool are_at_one_place(const struct verdict *verdict)
{
    for (int i = 1; i < verdict->waiter_count; i++) {
        if (!is_same_place(flight_of(verdict, verdict->waiters[0]),
                           flight_of(verdict, verdict->waiters[i])))
            return false;
    }
    return true;
}

static void print_circle(FILE *text, const struct verdict *verdict)
{
    enum { NAMED_MOST = 3 };
    int *sorted = calloc((size_t)verdict->waiter_count, sizeof *sorted);
    if (sorted) {
        memcpy(sorted, verdict->waiters, (size_t)verdict->waiter_count * sizeof *sorted);
        qsort(sorted, (size_t)verdict->waiter_count, sizeof *sorted, compare_ranks);
        print_ranks(text, "Rank", sorted, verdict->waiter_count);
    }
    free(sorted);
    fprintf(text, " have waited for each other for %s: ", units_time(find_time(verdict)));
    const bool is_ring = verdict->waiter_count > NAMED_MOST && are_at_one_place(verdict);
    const int named = is_ring                              ? 1
                      : verdict->waiter_count > NAMED_MOST ? NAMED_MOST
                                                           : verdict->waiter_count;
    for (int i = 0; i < named; i++) {
        fprintf(text, "%srank %d in ", i ? ", " : "", verdict->waiters[i]);
        print_call(text, flight_of(verdict, verdict->waiters[i]), false);
    }
    if (is_ring)
        fputs(", and so on", text);
    else if (named < verdict->waiter_count)
        fputs(", ...", text);
    if (describe_circle_difference(verdict))
        fprintf(text, ": the %s differ", describe_circle_difference(verdict));
}

static void print_absent(FILE *text, const struct verdict *verdict)
{
    const struct hang_rank *mine = &verdict->hang->ranks[verdict->waiters[0]];
    const struct hang_rank *its = &verdict->hang->ranks[verdict->other];
    print_waiters(text, verdict);
    fprintf(text, "; rank %d is in ", verdict->other);
    print_call(text, its->flight, false);
    if (its->group >= 0 && its->flight->comm != mine->flight->comm)
        fputs(" on another communicator", text);
    fprintf(text, ": %s", describe_default(verdict));
}

/* The ranks whose data is missing and for which the first of the waiters waits. */
struct missing {
    const struct hang *hang;
    int *ranks, count;
};

static void add_missing(void *data, int rank, int target)
{
    struct missing *missing = data;
    (void)rank;
    if (missing->hang->ranks[target].state == HANG_MISSING && missing->count < missing->hang->count)
        missing->ranks[missing->count++] = target;
}

static void print_not_known(FILE *text, const struct verdict *verdict)
{
    struct missing missing = {verdict->hang, NULL, 0};
    missing.ranks = calloc((size_t)verdict->hang->count, sizeof *missing.ranks);
    print_waiters(text, verdict);
    if (missing.ranks) {
        hang_each_target(verdict->hang, verdict->waiters[0], add_missing, &missing);
        qsort(missing.ranks, (size_t)missing.count, sizeof *missing.ranks, compare_ranks);
        fputs("; the data of ", text);
        print_ranks(text, "rank", missing.ranks, missing.count);
        fputs(" is missing", text);
    }
    free(missing.ranks);
}

static void print_not_yet(FILE *text, const struct verdict *verdict)
{
    const struct hang_rank *other = &verdict->hang->ranks[verdict->other];
    const char *how = other->process ? other->process->termination : NULL;
    print_waiters(text, verdict);
    fprintf(text, "; rank %d ", verdict->other);
    if (other->state == HANG_BUSY) {
        fputs("is in ", text);
        print_call(text, other->flight, false);
    } else {
        fputs(how && !strcmp(how, "MPI_Abort") ? "has called MPI_Abort" : "is outside MPI", text);
        fprintf(text, ": %s", describe_default(verdict));
    }
}

static void print_summary(FILE *text, const struct verdict *verdict)
{
    switch (verdict->cause) {
    case MISMATCH:
        print_mismatch(text, verdict);
        break;
    case GONE:
        print_gone(text, verdict);
        break;
    case CIRCLE:
        print_circle(text, verdict);
        break;
    case ABSENT:
        print_absent(text, verdict);
        break;
    case NOT_YET:
        print_not_yet(text, verdict);
        break;
    default:
        print_not_known(text, verdict);
        break;
    }
}

/* ---- Explanations ---------------------------------------------------------------------------- */

static void print_message(FILE *text, const struct verdict *verdict, int rank, int other)
{
    const struct profile_await *await = find_await(verdict, rank, other);
    if (!await)
        return;
    fprintf(text, "Rank %d %s a message", rank, await->sending ? "sends" : "waits for");
    if (await->tag >= 0)
        fprintf(text, " with tag %d", await->tag);
    if (await->any)
        fputs(" from any rank. ", text);
    else if (await->peer >= 0)
        fprintf(text, " %s rank %d. ", await->sending ? "to" : "from", await->peer);
    else
        fputs(". ", text);
}

static void explain_circle(FILE *text, const struct verdict *verdict)
{
    enum { NAMED_MOST = 3 };
    for (int i = 0; i < verdict->waiter_count && i < NAMED_MOST; i++)
        print_message(text, verdict, verdict->waiters[i],
                      verdict->waiters[(i + 1) % verdict->waiter_count]);
    if (describe_circle_difference(verdict))
        fputs("A message meets only a receive with its tag and its communicator. ", text);
    else
        fputs("None of these ranks can go on before another one does. ", text);
}

/* Tells how many ranks that the summary does not name wait for those that it names. */
static void print_others(FILE *text, const struct verdict *verdict)
{
    const struct hang *hang = verdict->hang;
    int others = 0;
    for (int rank = 0; rank < hang->count; rank++) {
        bool is_named = rank == verdict->other;
        for (int i = 0; i < verdict->waiter_count; i++)
            is_named = is_named || verdict->waiters[i] == rank;
        if (verdict->cause == MISMATCH)
            is_named = is_named || hang->ranks[rank].group == hang->ranks[verdict->other].group;
        others += !is_named && hang->ranks[rank].state == HANG_WAITS &&
                  hang_leads_to(hang, rank, verdict->waiters[0]);
    }
    if (others)
        fprintf(text, "%d other rank%s for them. ", others, others == 1 ? " waits" : "s wait");
}

static void print_meaning(FILE *text, const struct verdict *verdict)
{
    switch (verdict->cause) {
    case MISMATCH:
        fprintf(text,
                "All ranks of a communicator must call the same collective functions in the same "
                "order%s. ",
                is_root_different(verdict) ? ", with the same root" : "");
        break;
    case GONE:
        print_message(text, verdict, verdict->waiters[0], verdict->other);
        fputs("The ranks that wait can never go on. ", text);
        break;
    case CIRCLE:
        explain_circle(text, verdict);
        break;
    case ABSENT:
        print_message(text, verdict, verdict->other, -1);
        fputs("The ranks wait for each other, so that none of them can go on. ", text);
        break;
    case NOT_YET:
        print_message(text, verdict, verdict->waiters[0], verdict->other);
        if (verdict->hang->ranks[verdict->other].state != HANG_BUSY)
            fprintf(text, "Rank %d was in no MPI call when its data was saved. ", verdict->other);
        break;
    default:
        fputs("The call had not returned when the data of the process was saved. ", text);
        break;
    }
    print_others(text, verdict);
}

static const char *choose_advice(const struct verdict *verdict)
{
    const bool is_message = verdict->hang->ranks[verdict->waiters[0]].group < 0;
    switch (verdict->cause) {
    case MISMATCH:
        if (is_root_different(verdict))
            return "Make sure that all ranks compute the same root.";
        return "Look for a branch, or an early return, because of which the ranks call different "
               "functions.";
    case GONE:
        return is_message ? "Check the number of messages, their tags and their ranks: the other "
                            "side is not in the program any more."
                          : "Check why this rank does not make the call before it ends: a branch, "
                            "an error, or another number of iterations.";
    case CIRCLE:
        if (describe_circle_difference(verdict))
            return "Use the same tag and the same communicator on both sides.";
        return find_await(verdict, verdict->waiters[0], -1)->sending
                   ? "Use MPI_Sendrecv, or post the receives with MPI_Irecv before the sends."
                   : "Let one of the ranks send before it receives, or use MPI_Sendrecv.";
    case ABSENT:
        if (verdict->hang->ranks[verdict->other].group >= 0)
            return "Make sure that all ranks make these calls in the same order.";
        return "Check whether the message for which this rank waits is sent before the collective "
               "call, and with this tag, or why it does not make the call.";
    case NOT_YET:
        return "Check with a debugger what this rank does: it may compute for long, or for ever.";
    default:
        return "Give qmpi report the files of all ranks: it compares their calls.";
    }
}

/* ---- The verdict as a finding ---------------------------------------------------------------- */

static void print_to(char *to, size_t size, const struct verdict *verdict,
                     void (*print)(FILE *text, const struct verdict *verdict))
{
    FILE *text = fmemopen(to, size - 1, "w");
    to[0] = to[size - 1] = '\0';
    if (!text)
        return;
    print(text, verdict);
    fclose(text);
}

static void trim(char *text)
{
    size_t length = strlen(text);
    while (length && text[length - 1] == ' ')
        text[--length] = '\0';
}

static void add_verdict(struct finder *finder, const struct verdict *verdict)
{
    const bool is_deadlock = verdict->cause < NOT_YET;
    const struct profile_flight *flight = flight_of(verdict, verdict->waiters[0]);
    struct profile_finding *finding =
        finder_add(finder, is_deadlock ? FINDING_DEADLOCK : FINDING_IN_FLIGHT, find_time(verdict),
                   verdict->waiters[0], find_flight_site(finder->result, flight));
    if (!finding)
        return;
    finding->is_first = is_deadlock;
    finding->peer =
        verdict->cause == CIRCLE ? verdict->waiters[1 % verdict->waiter_count] : verdict->other;
    print_to(finding->summary, sizeof finding->summary, verdict, print_summary);
    print_to(finding->meaning, sizeof finding->meaning, verdict, print_meaning);
    trim(finding->meaning);
    finding->advice = choose_advice(verdict);
}

static enum cause judge(struct verdict *verdict, const struct finder *finder)
{
    bool any = false;
    double longest = 0;
    for (int rank = 0; rank < verdict->hang->count; rank++) {
        const struct hang_rank *it = &verdict->hang->ranks[rank];
        any = any || it->is_stuck;
        longest = it->is_stuck ? fmax(longest, it->flight->time) : longest;
    }
    if (any && longest >= fmin(finder->least, 1))
        return judge_stuck(verdict);
    return judge_waiting(verdict, finder->least);
}

/* Returns whether the verdict tells why a rank waits. */
static bool is_explained(const struct verdict *verdict, int rank)
{
    const struct hang *hang = verdict->hang;
    if (verdict->cause == NOTHING || rank < 0 || rank >= hang->count)
        return false;
    return hang->ranks[rank].is_stuck || rank == verdict->other ||
           (hang->ranks[rank].state == HANG_WAITS &&
            hang_leads_to(hang, rank, verdict->other >= 0 ? verdict->other : verdict->waiters[0]));
}

/* ---- Calls that no verdict explains ---------------------------------------------------------- */

/* The numbers of ranks by what they were doing. */
struct ranks_seen {
    int here, elsewhere; /* in a call from the same place, or only in other calls */
};

/* Calls in flight are in the order of their ranks. A rank may be in several calls, which are nested
 * or in different threads. */
static struct ranks_seen count_ranks_seen(const struct profile_result *result,
                                          const struct profile_callsite *site)
{
    struct ranks_seen seen = {0, 0};
    for (size_t i = 0; i < result->flight_count;) {
        const int rank = result->flights[i].rank;
        bool is_here = false;
        for (; i < result->flight_count && result->flights[i].rank == rank; i++)
            is_here = is_here || finder_is_flight_of(&result->flights[i], site);
        seen.here += is_here;
        seen.elsewhere += !is_here;
    }
    return seen;
}

static void describe_flight(const struct finder *finder, struct profile_finding *finding)
{
    const struct ranks_seen seen = count_ranks_seen(finder->result, finding->site);
    const int known = (int)finder->result->process_count;
    const int outside = known - seen.here - seen.elsewhere;
    finder_summarize(finding, "Rank %d is still in %s at \1 after %s", finding->rank,
                     finding->site->name, finder_amount(finder, finding->seconds));
    if (known == 1)
        snprintf(finding->meaning, sizeof finding->meaning,
                 "The call had not returned when the data of this process was saved.");
    else
        snprintf(finding->meaning, sizeof finding->meaning,
                 "The call had not returned when the data of the process was saved. Of %d ranks, "
                 "%d %s in a call from here, %d in other MPI calls, and %d outside MPI.",
                 known, seen.here, seen.here == 1 ? "is" : "are", seen.elsewhere, outside);
    if (known > 1 && outside <= 0)
        finding->advice = "All ranks are in MPI: they may wait for each other for ever. Compare "
                          "their calls (qmpi report --in-flight): which message is not sent, or "
                          "which rank does not take part in a collective call?";
    else
        finding->advice = "Check what the ranks do for which this call waits, and whether they "
                          "send what it receives, or call the same collective function.";
}

/* Of the calls at one place, only the one that has lasted longest gets a finding. */
static bool is_longest_flight(const struct profile_result *result,
                              const struct profile_flight *flight,
                              const struct profile_callsite *site)
{
    for (size_t i = 0; i < result->flight_count; i++) {
        const struct profile_flight *it = &result->flights[i];
        if (it != flight && finder_is_flight_of(it, site) &&
            (it->time > flight->time || (it->time == flight->time && it < flight)))
            return false;
    }
    return true;
}

static void add_flights(struct finder *finder, const struct verdict *verdict)
{
    const struct profile_result *result = finder->result;
    for (size_t i = 0; i < result->flight_count; i++) {
        const struct profile_flight *flight = &result->flights[i];
        const struct profile_callsite *site =
            flight->time < finder->least ? NULL : find_flight_site(result, flight);
        if (!site || is_explained(verdict, flight->rank) ||
            !is_longest_flight(result, flight, site))
            continue;
        struct profile_finding *finding =
            finder_add(finder, FINDING_IN_FLIGHT, flight->time, flight->rank, site);
        if (finding)
            describe_flight(finder, finding);
    }
}

void finder_rule_flights(struct finder *finder)
{
    struct hang hang;
    if (!finder->result->flight_count)
        return;
    hang_find(&hang, finder->result, fmin(finder->least, 1));
    struct verdict verdict = {.hang = &hang, .other = -1};
    verdict.waiters = calloc((size_t)hang.count + 1, sizeof *verdict.waiters);
    finder->good = finder->good && hang.good && verdict.waiters;
    if (hang.good && verdict.waiters) {
        verdict.cause = judge(&verdict, finder);
        if (verdict.cause != NOTHING)
            add_verdict(finder, &verdict);
        add_flights(finder, &verdict);
    }
    free(verdict.waiters);
    hang_free(&hang);
}
