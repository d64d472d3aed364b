/* SPDX-License-Identifier: MIT */
/* See hang.h. */
#define _GNU_SOURCE
#include "tools/profile/result/hang.h"

#include "standard/standard.h"
#include "util/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Ranks ----------------------------------------------------------------------------------- */

bool hang_each_member(const char *members, hang_member *each, void *data)
{
    while (*members) {
        int first, last, step = 1, length = 0;
        if (sscanf(members, "%d%n", &first, &length) != 1 || first < 0)
            return false;
        members += length;
        last = first;
        if (*members == '-') {
            if (sscanf(members, "-%d%n", &last, &length) != 1)
                return false;
            members += length;
        }
        if (*members == ':') {
            if (sscanf(members, ":%d%n", &step, &length) != 1 || step < 1)
                return false;
            members += length;
        }
        if ((*members && *members != ',') || last < first)
            return false;
        for (int64_t rank = first; rank <= last; rank += step)
            each(data, (int)rank);
        members += *members == ',';
    }
    return true;
}

/* Returns the number of ranks of which something is known. */
static int count_ranks(const struct profile_result *result)
{
    int count = result->ranks;
    for (size_t i = 0; i < result->process_count; i++)
        count = result->processes[i].rank >= count ? result->processes[i].rank + 1 : count;
    for (size_t i = 0; i < result->communicator_count; i++) {
        const struct profile_communicator *comm = &result->communicators[i];
        if (!strcmp(comm->name, "MPI_COMM_WORLD") && comm->size > count)
            count = comm->size;
    }
    return count;
}

/* Returns whether a process takes part in no further call, because it has ended by itself or has
 * finalized MPI. A process that ended together with the job does not count. */
static bool has_ended(const struct profile_process *process)
{
    static const char *const crashes[] = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL",
                                          "SIGABRT", "SIGSYS", "SIGTRAP"};
    const char *how = process->termination;
    if (!how)
        return false;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        if (!strncmp(how, "signal ", strlen("signal ")) &&
            !strcmp(how + strlen("signal "), crashes[i]))
            return true;
    }
    return !strcmp(how, "exit") || !strcmp(how, "MPI_Finalize") ||
           !strcmp(how, PROFILE_SESSIONS_ENDED);
}

static void set_process(struct hang *hang, const struct profile_process *process)
{
    if (process->rank < 0 || process->rank >= hang->count)
        return;
    struct hang_rank *rank = &hang->ranks[process->rank];
    rank->process = process;
    rank->state = has_ended(process) ? HANG_ENDED : HANG_OUTSIDE;
}

static bool is_in(const struct hang *hang, int rank)
{
    return rank >= 0 && rank < hang->count;
}

/* A rank in MPI_Finalize makes no further call for which others could wait. Therefore, this call
 * counts even if it has just begun. */
static bool is_finalize(const struct profile_flight *flight)
{
    return !strcmp(flight->name, "MPI_Finalize");
}

/* The longest call of a rank tells what the rank waits for. If calls are nested, this is the
 * outermost one. */
static void set_flight(struct hang *hang, const struct profile_flight *flight, double least)
{
    if (!is_in(hang, flight->rank) || (flight->time < least && !is_finalize(flight)))
        return;
    struct hang_rank *rank = &hang->ranks[flight->rank];
    if (rank->state == HANG_ENDED || (rank->flight && rank->flight->time >= flight->time))
        return;
    rank->flight = flight;
    rank->state = HANG_BUSY;
}

/* ---- Collective calls ------------------------------------------------------------------------ */

/* Returns whether all members of a communicator make the call, and none of them returns before all
 * others that it needs have arrived. */
static bool is_collective(const struct profile_flight *flight)
{
    const unsigned others =
        QMPIX_TRAIT_NONBLOCKING | QMPIX_TRAIT_PERSISTENT | QMPIX_TRAIT_NEIGHBORHOOD;
    QMPIX_Traits traits;
    standard_find_traits(flight->name, &traits);
    return is_finalize(flight) ||
           (flight->comm && !(traits.flags & others) &&
            (traits.role == QMPIX_ROLE_COLLECTIVE || traits.flags & QMPIX_TRAIT_COLLECTIVE));
}

static bool is_same_call(const struct profile_flight *mine, const struct profile_flight *its)
{
    return !strcmp(mine->name, its->name) && mine->comm == its->comm && mine->root == its->root;
}

/* Returns the number of the group of a call, and adds the group if necessary. Returns -1 if memory
 * is exhausted. */
static int find_group(struct hang *hang, const struct profile_flight *flight)
{
    for (int i = 0; i < hang->group_count; i++) {
        if (is_same_call(hang->groups[i].flight, flight))
            return i;
    }
    struct hang_group *group = &hang->groups[hang->group_count];
    *group = (struct hang_group){.flight = flight, .is_finalize = is_finalize(flight)};
    group->ranks = calloc((size_t)hang->count, sizeof *group->ranks);
    group->absent = calloc((size_t)hang->count, sizeof *group->absent);
    if (!group->ranks || !group->absent) {
        free(group->ranks);
        free(group->absent);
        hang->good = false;
        return -1;
    }
    return hang->group_count++;
}

static void join_group(struct hang *hang, int rank)
{
    struct hang_rank *it = &hang->ranks[rank];
    if (!it->flight || !is_collective(it->flight))
        return;
    it->group = find_group(hang, it->flight);
    if (it->group < 0)
        return;
    struct hang_group *group = &hang->groups[it->group];
    group->ranks[group->rank_count++] = rank;
    it->state = HANG_WAITS;
}

/* Collects the members of a group that are not in its call. */
struct absence {
    const struct hang *hang;
    struct hang_group *group;
    int number; /* of the group */
};

static void add_absent(void *data, int rank)
{
    struct absence *absence = data;
    struct hang_group *group = absence->group;
    if (is_in(absence->hang, rank) && absence->hang->ranks[rank].group != absence->number &&
        group->absent_count < absence->hang->count)
        group->absent[group->absent_count++] = rank;
}

static void find_absent(struct hang *hang, int number)
{
    struct hang_group *group = &hang->groups[number];
    const struct profile_flight *flight = group->flight;
    struct absence absence = {hang, group, number};
    const bool is_world = group->is_finalize || (flight->communicator && !flight->members &&
                                                 !strcmp(flight->communicator, "MPI_COMM_WORLD"));
    group->is_known = is_world || flight->members;
    if (is_world) {
        for (int rank = 0; rank < hang->count; rank++)
            add_absent(&absence, rank);
    } else if (flight->members) {
        group->is_known = hang_each_member(flight->members, add_absent, &absence);
    }
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void expect_messages(struct hang_rank *rank)
{
    QMPIX_Traits traits;
    if (!rank->flight || rank->group >= 0 || !rank->flight->await_count)
        return;
    standard_find_traits(rank->flight->name, &traits);
    if (traits.flags & QMPIX_TRAIT_POLLS)
        return;
    rank->state = HANG_WAITS;
    rank->needs_one =
        traits.role == QMPIX_ROLE_COMPLETE && (traits.index >= 0 || traits.outcount >= 0);
}

static bool concerns(const struct profile_await *await, int rank)
{
    return await->any ? !await->sending : await->peer == rank;
}

/* Returns whether a message for which `rank` waits is one for which `other` waits. */
static bool is_same_message(const struct profile_await *mine, int rank,
                            const struct profile_await *its, int other)
{
    return mine->sending != its->sending && concerns(mine, other) && concerns(its, rank) &&
           (mine->tag == its->tag || mine->tag < 0 || its->tag < 0) &&
           (mine->comm == its->comm || !mine->comm || !its->comm);
}

/* Returns whether a message for which `rank` waits is on its way, because `other` waits for the
 * same message. */
static bool is_met(const struct hang *hang, int rank, const struct profile_await *await, int other)
{
    const struct profile_flight *flight = hang->ranks[other].flight;
    for (size_t i = 0; flight && i < flight->await_count; i++) {
        if (is_same_message(await, rank, &flight->awaits[i], other))
            return true;
    }
    return false;
}

/* ---- Ranks that can go on -------------------------------------------------------------------- */

/* The search for a member of a communicator that can send a message which `rank` receives from any
 * rank. */
struct senders {
    const struct hang *hang;
    const struct profile_await *await; /* the message */
    const bool *can;                   /* by rank: whether it can go on */
    int rank;
    bool one_can; /* such a member has been found */
};

static void ask_sender(void *data, int member)
{
    struct senders *senders = data;
    if (member != senders->rank && is_in(senders->hang, member))
        senders->one_can = senders->one_can || senders->can[member] ||
                           is_met(senders->hang, senders->rank, senders->await, member);
}

static bool can_come(const struct hang *hang, const bool *can, int rank,
                     const struct profile_await *await)
{
    const struct profile_flight *flight = hang->ranks[rank].flight;
    struct senders senders = {hang, await, can, rank, false};
    if (!await->any)
        return !is_in(hang, await->peer) || can[await->peer] ||
               is_met(hang, rank, await, await->peer);
    return !flight->members || await->comm != flight->comm ||
           !hang_each_member(flight->members, ask_sender, &senders) || senders.one_can;
}

static bool can_messages_come(const struct hang *hang, const bool *can, int rank)
{
    const struct hang_rank *it = &hang->ranks[rank];
    size_t come = 0;
    for (size_t i = 0; i < it->flight->await_count; i++)
        come += can_come(hang, can, rank, &it->flight->awaits[i]);
    return it->needs_one ? come > 0 : come == it->flight->await_count;
}

static bool can_group_go_on(const struct hang_group *group, const bool *can)
{
    bool all = true;
    for (int i = 0; i < group->absent_count; i++)
        all = all && can[group->absent[i]];
    return all || !group->is_known;
}

static bool can_go_on(const struct hang *hang, const bool *can, int rank)
{
    const struct hang_rank *it = &hang->ranks[rank];
    if (it->state == HANG_ENDED)
        return false;
    if (it->state != HANG_WAITS)
        return true;
    return it->group >= 0 ? can_group_go_on(&hang->groups[it->group], can)
                          : can_messages_come(hang, can, rank);
}

/* A rank that waits can go on if the ranks that it needs can go on: all absent ranks of a
 * collective call, or the other side of its messages. Ranks that are never found to be able to
 * go on are stuck. */
static void find_stuck(struct hang *hang)
{
    bool *can = calloc((size_t)hang->count + 1, sizeof *can), changed = can != NULL;
    hang->good = hang->good && can;
    while (changed) {
        changed = false;
        for (int rank = 0; rank < hang->count; rank++) {
            if (can[rank] || !can_go_on(hang, can, rank))
                continue;
            can[rank] = changed = true;
        }
    }
    for (int rank = 0; can && rank < hang->count; rank++)
        hang->ranks[rank].is_stuck = hang->ranks[rank].state == HANG_WAITS && !can[rank];
    free(can);
}

/* ---- One moment ------------------------------------------------------------------------------ */

/* Returns when a call began, in seconds. NAN: unknown. */
static double find_begin(const struct profile_flight *flight)
{
    struct tm parts = {0};
    double seconds;
    if (sscanf(flight->since, "%d-%d-%dT%d:%d:%lf", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &parts.tm_hour, &parts.tm_min, &seconds) != 6)
        return NAN;
    parts.tm_year -= 1900;
    parts.tm_mon--;
    return (double)timegm(&parts) + seconds;
}

/* Processes save their data at different times. Ranks are stuck only if their calls overlap in
 * time. */
static bool is_at_one_moment(const struct hang *hang)
{
    double begin = -INFINITY, end = INFINITY;
    for (int rank = 0; rank < hang->count; rank++) {
        if (!hang->ranks[rank].is_stuck)
            continue;
        const double its = find_begin(hang->ranks[rank].flight);
        begin = fmax(begin, its);
        if (!is_finalize(hang->ranks[rank].flight))
            end = fmin(end, its + hang->ranks[rank].flight->time);
    }
    return begin <= end;
}

static void unstick(struct hang *hang)
{
    for (int rank = 0; rank < hang->count; rank++)
        hang->ranks[rank].is_stuck = false;
}

/* ---- The search ------------------------------------------------------------------------------ */

void hang_find(struct hang *hang, const struct profile_result *result, double least)
{
    const int count = count_ranks(result);
    *hang = (struct hang){.count = count, .good = true};
    hang->ranks = calloc((size_t)count + 1, sizeof *hang->ranks);
    hang->groups = calloc((size_t)count + 1, sizeof *hang->groups);
    if (!hang->ranks || !hang->groups) {
        hang->good = false;
        hang->count = 0;
        return;
    }
    for (int rank = 0; rank < count; rank++)
        hang->ranks[rank].group = -1;
    for (size_t i = 0; i < result->process_count; i++)
        set_process(hang, &result->processes[i]);
    for (size_t i = 0; i < result->flight_count; i++)
        set_flight(hang, &result->flights[i], least);
    for (int rank = 0; rank < count; rank++)
        join_group(hang, rank);
    for (int i = 0; i < hang->group_count; i++)
        find_absent(hang, i);
    for (int rank = 0; rank < count; rank++)
        expect_messages(&hang->ranks[rank]);
    find_stuck(hang);
    if (!is_at_one_moment(hang))
        unstick(hang);
}

void hang_free(struct hang *hang)
{
    for (int i = 0; i < hang->group_count; i++) {
        free(hang->groups[i].ranks);
        free(hang->groups[i].absent);
    }
    free(hang->groups);
    free(hang->ranks);
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* The ranks for which one rank waits. */
struct walk {
    const struct hang *hang;
    int rank;
    hang_target *each;
    void *data;
};

static void walk_to(void *data, int target)
{
    const struct walk *walk = data;
    if (target != walk->rank && is_in(walk->hang, target))
        walk->each(walk->data, walk->rank, target);
}

void hang_each_target(const struct hang *hang, int rank, hang_target *each, void *data)
{
    const struct hang_rank *it = &hang->ranks[rank];
    struct walk walk = {hang, rank, each, data};
    if (it->state != HANG_WAITS)
        return;
    if (it->group >= 0) {
        const struct hang_group *group = &hang->groups[it->group];
        for (int i = 0; i < group->absent_count; i++)
            each(data, rank, group->absent[i]);
        return;
    }
    for (size_t i = 0; i < it->flight->await_count; i++) {
        const struct profile_await *await = &it->flight->awaits[i];
        if (!await->any)
            walk_to(&walk, await->peer);
        else if (it->flight->members)
            hang_each_member(it->flight->members, walk_to, &walk);
    }
}

struct choice {
    const struct hang *hang;
    int rank, value;
};

static void choose(void *data, int rank, int target)
{
    struct choice *choice = data;
    const struct hang_rank *it = &choice->hang->ranks[target];
    const int value = it->state == HANG_ENDED ? 3 : it->is_stuck ? 2 : 1;
    (void)rank;
    if (value > choice->value) {
        choice->value = value;
        choice->rank = target;
    }
}

int hang_first_target(const struct hang *hang, int rank)
{
    struct choice choice = {hang, -1, 0};
    hang_each_target(hang, rank, choose, &choice);
    return choice.rank;
}

struct search {
    const bool *reached;
    bool found;
};

static void look_for_reached(void *data, int rank, int target)
{
    struct search *search = data;
    (void)rank;
    search->found = search->found || search->reached[target];
}

bool hang_leads_to(const struct hang *hang, int rank, int target)
{
    bool *reached = calloc((size_t)hang->count + 1, sizeof *reached), changed = reached != NULL;
    if (reached)
        reached[target] = true;
    while (changed && !reached[rank]) {
        changed = false;
        for (int i = 0; i < hang->count; i++) {
            struct search search = {reached, false};
            if (!reached[i])
                hang_each_target(hang, i, look_for_reached, &search);
            if (search.found)
                reached[i] = changed = true;
        }
    }
    const bool leads = reached && reached[rank];
    free(reached);
    return leads;
}

/* Returns whether a message for which `rank` waits differs at most in its tag and communicator from
 * one for which `other` waits. */
static bool is_near(const struct hang *hang, int rank, int other)
{
    const struct profile_flight *mine = hang->ranks[rank].flight, *its = hang->ranks[other].flight;
    for (size_t i = 0; i < mine->await_count; i++) {
        for (size_t k = 0; k < its->await_count; k++) {
            if (mine->awaits[i].sending != its->awaits[k].sending &&
                concerns(&mine->awaits[i], other) && concerns(&its->awaits[k], rank))
                return true;
        }
    }
    return false;
}

int hang_find_mismatch(const struct hang *hang, int rank)
{
    const struct hang_rank *it = &hang->ranks[rank];
    const struct hang_group *group = it->group >= 0 ? &hang->groups[it->group] : NULL;
    for (int i = 0; group && i < group->absent_count; i++) {
        const struct hang_rank *its = &hang->ranks[group->absent[i]];
        if (!group->is_finalize && its->is_stuck && its->group >= 0 &&
            its->flight->comm == it->flight->comm)
            return group->absent[i];
    }
    for (int other = 0; !group && other < hang->count; other++) {
        const struct hang_rank *its = &hang->ranks[other];
        if (other != rank && its->is_stuck && its->group < 0 && is_near(hang, rank, other))
            return other;
    }
    return -1;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void print_partner(FILE *text, const struct profile_await *await, bool with_tag)
{
    if (await->any)
        fputs(" from any rank", text);
    else if (await->peer >= 0)
        fprintf(text, " %s rank %d", await->sending ? "to" : "from", await->peer);
    if (with_tag && await->tag >= 0)
        fprintf(text, " (tag %d)", await->tag);
}

void hang_print_partners(FILE *text, const struct profile_flight *flight, bool with_tags)
{
    QMPIX_Traits traits;
    standard_find_traits(flight->name, &traits);
    const bool is_completion = traits.role == QMPIX_ROLE_COMPLETE;
    if (flight->await_count > (is_completion ? 1 : 2)) {
        fprintf(text, " for %zu messages", flight->await_count);
        return;
    }
    if (is_completion && flight->await_count)
        fputs(" for a message", text);
    for (size_t i = 0; i < flight->await_count; i++) {
        fputs(i ? " and" : "", text);
        print_partner(text, &flight->awaits[i], with_tags);
    }
}
