/* SPDX-License-Identifier: MIT */
/* See budget.h. The time of each call site is divided among the parts. Then the parts are made to
 * add up to the time that the ranks lost, which is known more exactly than the parts. */
#include "tools/profile/result/budget.h"

#include "tools/profile/result/finder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------- */

static const struct {
    const char *name, *words;
} parts[PROFILE_BUDGET_PARTS] = {
    [PROFILE_BUDGET_USEFUL] = {"useful", "useful: outside MPI"},
    [PROFILE_BUDGET_PROCESSOR] = {"no-processor", "no processor"},
    [PROFILE_BUDGET_SERIAL_START] = {"serial-start", "waiting: serial work at first"},
    [PROFILE_BUDGET_LATE_SENDER] = {"late-sender", "waiting: late senders"},
    [PROFILE_BUDGET_LATE_RECEIVER] = {"late-receiver", "waiting: late receivers"},
    [PROFILE_BUDGET_COLLECTIVES] = {"collectives", "waiting: last at a collective"},
    [PROFILE_BUDGET_ACCESS] = {"window-access", "waiting: access to a window"},
    [PROFILE_BUDGET_END] = {"end", "waiting: last rank to end"},
    [PROFILE_BUDGET_SMALL_COLLECTIVES] = {"small-collectives", "MPI: small collectives"},
    [PROFILE_BUDGET_SMALL_MESSAGES] = {"small-messages", "MPI: small messages"},
    [PROFILE_BUDGET_TRANSFER] = {"transfer", "MPI: transfer of data"},
    [PROFILE_BUDGET_FILES] = {"files", "MPI: file input and output"},
    [PROFILE_BUDGET_OBJECTS] = {"objects", "MPI: objects made and freed"},
    [PROFILE_BUDGET_POLLING] = {"polling", "polling"},
    [PROFILE_BUDGET_OTHER] = {"other", "other MPI time"},
};

const char *profile_budget_name(enum profile_budget_part part)
{
    return parts[part].name;
}

const char *profile_budget_describe(enum profile_budget_part part)
{
    return parts[part].words;
}

void profile_budget_order(const struct profile_budget *budget,
                          enum profile_budget_part order[PROFILE_BUDGET_PARTS])
{
    for (int i = 0; i < PROFILE_BUDGET_PARTS; i++) {
        int place = i;
        for (; place > 1 && budget->items[order[place - 1]].seconds < budget->items[i].seconds;
             place--)
            order[place] = order[place - 1];
        order[place] = (enum profile_budget_part)i;
    }
}

/* ---- Parts of a place ------------------------------------------------------------------------ */

/* Calls of one call site or function. */
struct place {
    const char *name;
    const struct profile_callsite *site; /* NULL: there is none */
    const struct profile_function *function;
    const struct profile_calls *calls;
    double seconds;                     /* in MPI, of all ranks, waiting included */
    double times[PROFILE_BUDGET_PARTS]; /* of all ranks */
};

enum { SMALL_BYTES = 1024 };

static bool is_small(double bytes, double count)
{
    return bytes <= SMALL_BYTES * count;
}

static double bytes_of(const struct profile_calls *calls)
{
    return (double)calls->sent + (double)calls->received;
}

/* Where all ranks make the same calls and wait for each other, none needs more time for them than
 * the rank that takes least: it waits least. */
static double find_least_time(const struct place *place, const struct finder_ranks *ranks)
{
    const struct profile_rank_calls *all = ranks->all;
    bool is_equal =
        ranks->count + ranks->others > 1 && finder_traits(place->name).flow == QMPIX_FLOW_ALL;
    for (int i = 1; i < ranks->count; i++)
        is_equal = is_equal && all[i].calls == all[0].calls;
    return is_equal && ranks->count ? finder_total(&all[0]) : INFINITY;
}

/* Returns the time that ranks spend in these calls beyond what their data explain. */
static double find_unexplained(const struct finder *finder, const struct place *place)
{
    struct finder_ranks ranks;
    double seconds = 0;
    if (place->site)
        finder_ranks_of_site(finder, place->site, &ranks);
    else
        finder_ranks_of_function(finder, place->function, &ranks);
    const double least = find_least_time(place, &ranks);
    for (int i = 0; i < ranks.count; i++) {
        const struct profile_rank_calls *it = &ranks.all[i];
        const double bytes = (double)it->sent + (double)it->received;
        seconds += fmax(finder_total(it) - fmin(finder_explain(it->calls, bytes), least), 0);
    }
    if (ranks.others)
        seconds +=
            ranks.others *
            fmax(ranks.mean.time - fmin(finder_explain(ranks.mean.calls, ranks.mean.bytes), least),
                 0);
    return seconds;
}

/* Moves time of a place to a part, as far as there is any. */
static void take(struct place *place, enum profile_budget_part part, double seconds)
{
    const double taken = fmin(fmax(seconds, 0), place->seconds);
    place->times[part] += taken;
    place->seconds -= taken;
}

static void take_rest(struct place *place, enum profile_budget_part part)
{
    take(place, part, place->seconds);
}

/* Calls that have not ended wait. */
static void take_flights(const struct finder *finder, struct place *place)
{
    const struct profile_result *result = finder->result;
    const QMPIX_Role role = finder_traits(place->name).role;
    const enum profile_budget_part part =
        finder_is_collective(finder, place->name) ? PROFILE_BUDGET_COLLECTIVES
        : role == QMPIX_ROLE_SEND                 ? PROFILE_BUDGET_LATE_RECEIVER
        : finder_is_message(place->name)          ? PROFILE_BUDGET_LATE_SENDER
        : finder_awaits_access(place->name)       ? PROFILE_BUDGET_ACCESS
                                                  : PROFILE_BUDGET_OTHER;
    for (size_t i = 0; i < result->flight_count; i++) {
        const struct profile_flight *it = &result->flights[i];
        if (place->site ? finder_is_flight_of(it, place->site) : !strcmp(it->name, place->name))
            take(place, part, it->time);
    }
}

/* A nonblocking call only starts the operation. */
static void divide_collective(const struct finder *finder, struct place *place)
{
    const struct profile_calls *calls = place->calls;
    const unsigned flags = finder_traits(place->name).flags;
    if (calls->wait.sum > 0)
        take(place, PROFILE_BUDGET_COLLECTIVES, calls->wait.sum);
    else if (!(flags & (QMPIX_TRAIT_NONBLOCKING | QMPIX_TRAIT_PERSISTENT)))
        take(place, PROFILE_BUDGET_COLLECTIVES, find_unexplained(finder, place));
    if (finder_makes_objects(finder, place->name))
        take_rest(place, PROFILE_BUDGET_OBJECTS);
    else if (is_small(bytes_of(calls), (double)calls->calls))
        take_rest(place, PROFILE_BUDGET_SMALL_COLLECTIVES);
    else
        take_rest(place, PROFILE_BUDGET_TRANSFER);
}

/* The list of a site with many pairs is cut off: the pairs that it lacks wait like those it has. */
static double find_wait_factor(const struct finder *finder, const struct place *place)
{
    const struct profile_waits *waits = &place->site->waits;
    const double waited =
        place->seconds - 10e-6 * (double)place->calls->calls - 1e-9 * bytes_of(place->calls);
    double known = 0;
    for (size_t i = 0; i < waits->count; i++)
        known += waits->all[i].time;
    if (finder->result->every_rank || waits->count < PROFILE_WAITS_MOST || !(known > 0))
        return 1;
    return fmax(waited / known, 1);
}

static void take_waits(const struct finder *finder, struct place *place)
{
    const struct profile_waits *waits = &place->site->waits;
    const double factor = find_wait_factor(finder, place);
    for (size_t i = 0; i < waits->count; i++) {
        const struct profile_wait *wait = &waits->all[i];
        if (wait->peer != wait->rank)
            take(place,
                 finder_awaits_receiver(finder, place->site, wait->rank, wait->peer)
                     ? PROFILE_BUDGET_LATE_RECEIVER
                 : wait->peer < 0 && !finder_is_message(place->name) ? PROFILE_BUDGET_OTHER
                                                                     : PROFILE_BUDGET_LATE_SENDER,
                 factor * wait->time);
    }
}

/* Calls that complete operations have no messages of their own. `mean_bytes` is the mean size of
 * all messages of the run. */
static void divide_messages(const struct finder *finder, struct place *place, double mean_bytes)
{
    if (place->site)
        take_waits(finder, place);
    const double messages = place->site ? (double)place->site->messages : 0;
    const double bytes = messages > 0 ? bytes_of(place->calls) : mean_bytes;
    take_rest(place, is_small(bytes, messages > 0 ? messages : 1) ? PROFILE_BUDGET_SMALL_MESSAGES
                                                                  : PROFILE_BUDGET_TRANSFER);
}

static bool is_file(QMPIX_Role role)
{
    return role == QMPIX_ROLE_FILE_OPEN || role == QMPIX_ROLE_FILE_CLOSE ||
           role == QMPIX_ROLE_FILE_ACCESS || role == QMPIX_ROLE_FILE_BEGIN ||
           role == QMPIX_ROLE_FILE_END;
}

/* The application time begins after MPI_Init and ends before MPI_Finalize. */
static bool is_outside_run(QMPIX_Role role)
{
    return role == QMPIX_ROLE_INIT || role == QMPIX_ROLE_FINALIZE ||
           role == QMPIX_ROLE_SESSION_INIT || role == QMPIX_ROLE_SESSION_FINALIZE;
}

static bool is_group(const struct place *place, const char *group)
{
    return place->function && !strcmp(place->function->group, group);
}

static void divide_place(const struct finder *finder, struct place *place, double mean_bytes)
{
    const QMPIX_Role role = finder_traits(place->name).role;
    if (is_outside_run(role)) {
        place->seconds = 0;
        return;
    }
    take(place, PROFILE_BUDGET_POLLING, place->calls->polling);
    if (!is_file(role) && !is_group(place, "I/O"))
        take_flights(finder, place);
    if (is_file(role) || is_group(place, "I/O"))
        take_rest(place, PROFILE_BUDGET_FILES);
    else if (finder_is_collective(finder, place->name))
        divide_collective(finder, place);
    else if (finder_is_message(place->name) || is_group(place, "point-to-point") ||
             is_group(place, "completion"))
        divide_messages(finder, place, mean_bytes);
    else if (finder_makes_objects(finder, place->name))
        take_rest(place, PROFILE_BUDGET_OBJECTS);
    if (finder_awaits_access(place->name))
        take(place, PROFILE_BUDGET_ACCESS, find_unexplained(finder, place));
    if (role == QMPIX_ROLE_ACCESS || is_group(place, "one-sided"))
        take_rest(place, PROFILE_BUDGET_TRANSFER);
    take_rest(place, PROFILE_BUDGET_OTHER);
}

/* ---- All places ------------------------------------------------------------------------------ */

static void add_place(struct profile_budget_item *item, const struct place *place, double seconds)
{
    int at =
        item->place_count < PROFILE_BUDGET_PLACES ? item->place_count++ : PROFILE_BUDGET_PLACES;
    for (; at > 0 && item->places[at - 1].seconds < seconds; at--) {
        if (at < PROFILE_BUDGET_PLACES)
            item->places[at] = item->places[at - 1];
    }
    if (at < PROFILE_BUDGET_PLACES)
        item->places[at] = (struct profile_budget_place){place->name, place->site, seconds};
}

static double time_in_calls(const struct profile_calls *calls)
{
    return calls->time.sum + calls->wait.sum;
}

static void add_place_times(const struct finder *finder, struct profile_budget *budget,
                            struct place *place, double mean_bytes)
{
    place->seconds = time_in_calls(place->calls);
    divide_place(finder, place, mean_bytes);
    for (int part = 0; part < PROFILE_BUDGET_PARTS; part++) {
        budget->items[part].seconds += place->times[part];
        if (place->times[part] > 0)
            add_place(&budget->items[part], place, place->times[part]);
    }
}

static double find_mean_bytes(const struct profile_result *result)
{
    double bytes = 0, messages = 0;
    for (size_t i = 0; i < result->matrix_entry_count; i++) {
        bytes += (double)result->matrix[i].bytes;
        messages += (double)result->matrix[i].messages;
    }
    return messages > 0 ? bytes / messages : 0;
}

static void add_places(const struct finder *finder, struct profile_budget *budget)
{
    const struct profile_result *result = finder->result;
    const double mean_bytes = find_mean_bytes(result);
    for (size_t i = 0; i < result->callsite_count; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        struct place place = {site->name,   site, finder_function(finder, site->name),
                              &site->calls, 0,    {0}};
        add_place_times(finder, budget, &place, mean_bytes);
    }
    for (size_t i = 0; !result->callsite_count && i < result->function_count; i++) {
        const struct profile_function *function = &result->functions[i];
        struct place place = {function->name, NULL, function, &function->calls, 0, {0}};
        add_place_times(finder, budget, &place, mean_bytes);
    }
}

/* ---- The sum --------------------------------------------------------------------------------- */

static void scale_item(struct profile_budget_item *item, double factor)
{
    item->seconds *= factor;
    for (int i = 0; i < item->place_count; i++)
        item->places[i].seconds *= factor;
}

/* A rank that waits for a processor does so in and outside MPI, presumably in proportion to the
 * time there. */
static void move_queued(const struct profile_result *result, struct profile_budget *budget)
{
    double outside = 0, inside = 0, lost = 0;
    for (size_t i = 0; i < result->process_count; i++) {
        const struct profile_process *it = &result->processes[i];
        const double queued = fmin(fmax(it->queued, 0), it->application);
        const double part = it->application > 0 ? it->useful / it->application : 0;
        outside += queued * part;
        inside += queued * (1 - part);
    }
    for (int part = PROFILE_BUDGET_SERIAL_START; part < PROFILE_BUDGET_PARTS; part++)
        lost += part == PROFILE_BUDGET_END ? 0 : budget->items[part].seconds;
    inside = fmin(inside, lost);
    for (int part = PROFILE_BUDGET_SERIAL_START; part < PROFILE_BUDGET_PARTS; part++) {
        if (part != PROFILE_BUDGET_END)
            scale_item(&budget->items[part], lost > 0 ? (lost - inside) / lost : 1);
    }
    outside = fmin(outside, budget->items[PROFILE_BUDGET_USEFUL].seconds);
    budget->items[PROFILE_BUDGET_USEFUL].seconds -= outside;
    budget->items[PROFILE_BUDGET_PROCESSOR].seconds = outside + inside;
}

/* Polling includes the pauses between two calls, in which ranks are outside MPI, but do nothing
 * useful. */
static void move_pauses(const struct profile_result *result, struct profile_budget *budget)
{
    struct profile_budget_item *useful = &budget->items[PROFILE_BUDGET_USEFUL];
    struct profile_budget_item *polling = &budget->items[PROFILE_BUDGET_POLLING];
    for (size_t i = 0; i < result->callsite_count; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        const double pauses =
            fmin(fmax(site->calls.polling - time_in_calls(&site->calls), 0), useful->seconds);
        useful->seconds -= pauses;
        polling->seconds += pauses;
        for (int k = 0; k < polling->place_count; k++) {
            if (polling->places[k].site == site)
                polling->places[k].seconds += pauses;
        }
    }
}

/* While one rank works alone at the start, all others wait, mostly at the call site that the
 * finding names. */
static void move_serial_start(const struct finder *finder, struct profile_budget *budget)
{
    static const enum profile_budget_part sources[] = {
        PROFILE_BUDGET_COLLECTIVES, PROFILE_BUDGET_LATE_SENDER, PROFILE_BUDGET_LATE_RECEIVER};
    const struct finder_startup *startup = &finder->startup;
    struct profile_budget_item *target = &budget->items[PROFILE_BUDGET_SERIAL_START];
    double seconds = startup->seconds * (double)(finder->result->process_count - 1);
    if (startup->rank < 0)
        return;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct profile_budget_item *source = &budget->items[sources[i]];
        const double moved = fmin(source->seconds, seconds);
        source->seconds -= moved;
        target->seconds += moved;
        seconds -= moved;
        for (int k = 0; k < source->place_count; k++) {
            struct profile_budget_place *place = &source->places[k];
            if (place->site == startup->site)
                place->seconds = fmax(place->seconds - moved, 0);
        }
    }
    target->places[0] =
        (struct profile_budget_place){startup->site->name, startup->site, target->seconds};
    target->place_count = 1;
}

/* If several threads call MPI, or calls are made within calls, the parts of calls exceed the time
 * that the ranks lost. Time in MPI that no place explains is other time. */
static void adjust_sum(struct profile_budget *budget, double lost)
{
    double sum = 0;
    for (int part = 0; part < PROFILE_BUDGET_PARTS; part++)
        sum += budget->items[part].seconds;
    if (sum > lost) {
        for (int part = 0; part < PROFILE_BUDGET_PARTS; part++)
            scale_item(&budget->items[part], sum > 0 ? lost / sum : 0);
    } else {
        budget->items[PROFILE_BUDGET_OTHER].seconds += lost - sum;
    }
}

bool profile_budget_find(const struct profile_result *result, struct profile_budget *budget)
{
    double useful = 0, application = 0;
    *budget = (struct profile_budget){.total = 0};
    for (size_t i = 0; i < result->process_count; i++) {
        useful += result->processes[i].useful;
        application += result->processes[i].application;
    }
    if (!(result->application.max > 0) || !result->process_count || result->is_filtered)
        return false;
    struct finder *finder = finder_make(result);
    if (!finder)
        return false;
    finder_rule_startup(finder);
    add_places(finder, budget);
    adjust_sum(budget, fmax(application - useful, 0));
    move_serial_start(finder, budget);
    budget->total = (double)result->process_count * result->application.max;
    budget->items[PROFILE_BUDGET_USEFUL].seconds = fmin(useful, application);
    move_pauses(result, budget);
    move_queued(result, budget);
    budget->items[PROFILE_BUDGET_END].seconds = fmax(budget->total - application, 0);
    for (int part = 0; part < PROFILE_BUDGET_PARTS; part++)
        budget->items[part].share = budget->items[part].seconds / budget->total;
    free(finder);
    return true;
}
