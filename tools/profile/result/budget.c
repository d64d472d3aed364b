/* SPDX-License-Identifier: MIT */
/* See budget.h. The time of each call site is divided among the parts. Then the parts are made to
 * add up to the time that the ranks lost, which is known more exactly than the parts. All changes
 * are made to the times of the places, so that a part is always the sum of its places and of time
 * that no place explains. */
#include "tools/profile/result/budget.h"

#include "tools/profile/result/efficiency.h"
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
    [PROFILE_BUDGET_COLLECTIVES] = {"collectives", "waiting: late at collectives"},
    [PROFILE_BUDGET_ACCESS] = {"window-access", "waiting: access to a window"},
    [PROFILE_BUDGET_END] = {"end", "waiting: last rank to end"},
    [PROFILE_BUDGET_OFF] = {"not-profiled", "not profiled: MPI_Pcontrol(0)"},
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

/* The calls of one call site or function. A time of a rank is the mean over its threads. */
struct place {
    const char *name;
    const struct profile_callsite *site; /* NULL: there is none */
    const struct profile_function *function;
    const struct profile_calls *calls;
    double seconds;  /* in MPI, of all ranks, including waiting; not yet in a part */
    double accessed; /* bytes of one-sided accesses that the calls may complete, of each rank */
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

static bool is_fence(const struct place *place)
{
    return finder_traits(place->name).role == QMPIX_ROLE_WIN_FENCE;
}

/* Ranks create and free windows together. How long that takes does not depend on data. */
static bool makes_window(const struct place *place)
{
    const QMPIX_Role role = finder_traits(place->name).role;
    return role == QMPIX_ROLE_WIN_CREATE || role == QMPIX_ROLE_WIN_FREE;
}

/* Returns the time that the calls need at most without waiting. If all ranks make the same calls
 * and wait for each other, this is the time of the rank that takes least, because that rank waits
 * least. Otherwise, it is unknown, and the result is INFINITY. */
static double find_least_time(const struct place *place, const struct finder_ranks *ranks)
{
    const struct profile_rank_calls *all = ranks->all;
    const bool all_wait = finder_traits(place->name).flow == QMPIX_FLOW_ALL || makes_window(place);
    bool is_equal = ranks->count + ranks->others > 1 && all_wait;
    for (int i = 1; i < ranks->count; i++)
        is_equal = is_equal && all[i].calls == all[0].calls;
    return is_equal && ranks->count ? finder_total(&all[0]) : INFINITY;
}

/* Returns how long the calls of a rank would take without waiting, but at most `least`. `slow` is a
 * part of their time that is known not to be waiting. For the creation and release of windows, data
 * explain nothing, and the result is `least`. */
static double explain(const struct place *place, uint64_t calls, double bytes, double threads,
                      double least, double slow)
{
    const double usual = finder_explain(calls, bytes + place->accessed) / threads;
    return makes_window(place) ? least : fmin(fmax(usual, slow), least);
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
    const double slow = place->site ? finder_slow_time(finder, place->site, &ranks) : 0;
    for (int i = 0; i < ranks.count; i++) {
        const struct profile_rank_calls *it = &ranks.all[i];
        const double bytes = (double)it->sent + (double)it->received;
        const double threads = finder_threads(finder, it->rank);
        seconds +=
            fmax(finder_total(it) - explain(place, it->calls, bytes, threads, least, slow), 0);
    }
    if (ranks.others)
        seconds +=
            ranks.others * fmax(ranks.mean.time - explain(place, ranks.mean.calls, ranks.mean.bytes,
                                                          finder->threads, least, slow),
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

/* Counts the time of calls in flight as waiting, or as other time if it is unknown for what they
 * wait. */
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
            take(place, part, it->time / finder_threads(finder, it->rank));
    }
}

/* Returns the bytes that the fences of a place complete for each rank. The accesses of the run are
 * divided among all its fences. */
static double find_accessed(const struct finder *finder, const struct place *place)
{
    const double calls =
        is_fence(place) && place->function ? (double)place->function->calls.calls : 0;
    return calls > 0 ? finder_access_bytes(finder) * (double)place->calls->calls / calls : 0;
}

/* A call that starts a nonblocking operation or makes a persistent one does not wait for other
 * ranks. */
static void divide_collective(const struct finder *finder, struct place *place)
{
    const struct profile_calls *calls = place->calls;
    const unsigned flags = finder_traits(place->name).flags;
    place->accessed = find_accessed(finder, place);
    if (calls->wait.sum > 0)
        take(place, PROFILE_BUDGET_COLLECTIVES, calls->wait.sum / finder->threads);
    else if (!(flags & (QMPIX_TRAIT_NONBLOCKING | QMPIX_TRAIT_PERSISTENT)))
        take(place, PROFILE_BUDGET_COLLECTIVES, find_unexplained(finder, place));
    if (finder_makes_objects(finder, place->name) || makes_window(place))
        take_rest(place, PROFILE_BUDGET_OBJECTS);
    else if (is_small(bytes_of(calls) + finder->result->ranks * place->accessed,
                      (double)calls->calls))
        take_rest(place, PROFILE_BUDGET_SMALL_COLLECTIVES);
    else
        take_rest(place, PROFILE_BUDGET_TRANSFER);
}

/* Returns the factor by which the listed waits must be multiplied. A site with many pairs of ranks
 * lists only some of them. All its time beyond that which its calls and bytes explain, as in
 * record/waits.c, is then assumed to be waiting. */
static double find_wait_factor(const struct finder *finder, const struct place *place)
{
    const struct profile_waits *waits = &place->site->waits;
    const double waited =
        place->seconds - 10e-6 * (double)place->calls->calls - 1e-9 * bytes_of(place->calls);
    double known = 0;
    for (size_t i = 0; i < waits->count; i++)
        known += waits->all[i].time / finder_threads(finder, waits->all[i].rank);
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
                 factor * wait->time / finder_threads(finder, wait->rank));
    }
}

/* Calls that complete operations have no messages of their own. Their messages are assumed to have
 * the size `mean_bytes`, the mean of all messages of the run. */
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
    take(place, PROFILE_BUDGET_POLLING, place->calls->polling / finder->threads);
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

/* The places of a result, and the time of each part that no place explains. */
struct table {
    struct place *places;
    size_t count;
    double elsewhere[PROFILE_BUDGET_PARTS];
};

static double time_in_calls(const struct finder *finder, const struct profile_calls *calls)
{
    return (calls->time.sum + calls->wait.sum) / finder->threads;
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

/* Returns false if memory is exhausted. */
static bool make_table(const struct finder *finder, struct table *table)
{
    const struct profile_result *result = finder->result;
    const double mean_bytes = find_mean_bytes(result);
    const bool has_sites = result->callsite_count > 0;
    *table = (struct table){.count = has_sites ? result->callsite_count : result->function_count};
    table->places = calloc(table->count + 1, sizeof *table->places);
    if (!table->places)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        struct place *place = &table->places[i];
        if (has_sites) {
            place->site = &result->callsites[i];
            place->name = place->site->name;
            place->function = finder_function(finder, place->name);
            place->calls = &place->site->calls;
        } else {
            place->function = &result->functions[i];
            place->name = place->function->name;
            place->calls = &place->function->calls;
        }
        place->seconds = time_in_calls(finder, place->calls);
        divide_place(finder, place, mean_bytes);
    }
    return true;
}

static double sum_part(const struct table *table, int part)
{
    double sum = table->elsewhere[part];
    for (size_t i = 0; i < table->count; i++)
        sum += table->places[i].times[part];
    return sum;
}

static void scale_part(struct table *table, int part, double factor)
{
    table->elsewhere[part] *= factor;
    for (size_t i = 0; i < table->count; i++)
        table->places[i].times[part] *= factor;
}

/* ---- The sum --------------------------------------------------------------------------------- */

/* If calls are made within calls, the sum of all parts may exceed `lost`, the time that the ranks
 * lost. The parts are then scaled down. Lost time that no place explains is other time. */
static void adjust_sum(struct table *table, double lost)
{
    double sum = 0;
    for (int part = 0; part < PROFILE_BUDGET_PARTS; part++)
        sum += sum_part(table, part);
    if (sum > lost) {
        for (int part = 0; part < PROFILE_BUDGET_PARTS; part++)
            scale_part(table, part, lost / sum);
    } else {
        table->elsewhere[PROFILE_BUDGET_OTHER] += lost - sum;
    }
}

/* Moves up to *seconds of the waiting at a place to the part for the start. */
static void move_to_start(struct place *place, double *seconds)
{
    static const enum profile_budget_part sources[] = {
        PROFILE_BUDGET_COLLECTIVES, PROFILE_BUDGET_LATE_SENDER, PROFILE_BUDGET_LATE_RECEIVER};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const double moved = fmin(place->times[sources[i]], *seconds);
        place->times[sources[i]] -= moved;
        place->times[PROFILE_BUDGET_SERIAL_START] += moved;
        *seconds -= moved;
    }
}

/* While one rank works alone at the start, all others wait, mostly at the call site that
 * finder->startup names. */
static void move_serial_start(const struct finder *finder, struct table *table)
{
    const struct finder_startup *startup = &finder->startup;
    double seconds = startup->seconds * (double)(finder->result->process_count - 1);
    if (startup->rank < 0)
        return;
    for (size_t i = 0; i < table->count; i++) {
        if (table->places[i].site == startup->site)
            move_to_start(&table->places[i], &seconds);
    }
    for (size_t i = 0; i < table->count; i++)
        move_to_start(&table->places[i], &seconds);
}

/* Polling includes the pauses between two calls, in which ranks are outside MPI, but do nothing
 * useful. */
static void move_pauses(const struct finder *finder, struct table *table)
{
    double *useful = &table->elsewhere[PROFILE_BUDGET_USEFUL];
    for (size_t i = 0; i < table->count; i++) {
        struct place *place = &table->places[i];
        const double polling = place->calls->polling / finder->threads;
        const double pauses = fmin(fmax(polling - time_in_calls(finder, place->calls), 0), *useful);
        *useful -= pauses;
        place->times[PROFILE_BUDGET_POLLING] += pauses;
    }
}

/* A rank that waits for a processor does so in MPI and outside MPI, presumably in proportion to the
 * time that it spends in each. */
static void move_queued(const struct profile_result *result, struct table *table)
{
    double outside = 0, inside = 0, lost = 0;
    double *useful = &table->elsewhere[PROFILE_BUDGET_USEFUL];
    for (size_t i = 0; i < result->process_count; i++) {
        const struct profile_process *it = &result->processes[i];
        const double queued = fmin(fmax(it->queued, 0), it->application);
        const double part = it->application > 0 ? fmin(it->useful / it->application, 1) : 0;
        outside += queued * part;
        inside += queued * (1 - part);
    }
    for (int part = PROFILE_BUDGET_SERIAL_START; part < PROFILE_BUDGET_PARTS; part++)
        lost += sum_part(table, part);
    inside = fmin(inside, lost);
    for (int part = PROFILE_BUDGET_SERIAL_START; part < PROFILE_BUDGET_PARTS; part++)
        scale_part(table, part, lost > 0 ? (lost - inside) / lost : 1);
    outside = fmin(outside, *useful);
    *useful -= outside;
    table->elsewhere[PROFILE_BUDGET_PROCESSOR] = outside + inside;
}

/* ---- The budget ------------------------------------------------------------------------------ */

/* Leaves out the places that explain little of a part. */
static void remove_small_places(struct profile_budget_item *item)
{
    const double least_share = 0.1;
    while (item->place_count > 1 &&
           item->places[item->place_count - 1].seconds < least_share * item->seconds)
        item->place_count--;
}

static void insert_budget_place(struct profile_budget_item *item, const struct place *place,
                                double seconds)
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

static void fill_budget(const struct table *table, struct profile_budget *budget)
{
    for (int part = 0; part < PROFILE_BUDGET_PARTS; part++) {
        struct profile_budget_item *item = &budget->items[part];
        item->seconds = sum_part(table, part);
        item->share = item->seconds / budget->total;
        for (size_t i = 0; i < table->count; i++) {
            const double seconds = table->places[i].times[part];
            if (seconds > 0)
                insert_budget_place(item, &table->places[i], seconds);
        }
        remove_small_places(item);
    }
}

bool profile_budget_find(const struct profile_result *result, struct profile_budget *budget)
{
    double useful = 0, application = 0, off = 0;
    struct table table;
    *budget =
        (struct profile_budget){.total = (double)result->process_count * result->application.max};
    for (size_t i = 0; i < result->process_count; i++) {
        useful += result->processes[i].useful;
        application += result->processes[i].application;
        off += profile_efficiency_off(result, &result->processes[i]);
    }
    useful = fmin(fmax(useful, 0), application);
    if (!(budget->total > 0) || result->is_filtered)
        return false;
    struct finder *finder = finder_make(result);
    if (!finder)
        return false;
    const bool good = make_table(finder, &table);
    if (good) {
        finder_rule_startup(finder);
        adjust_sum(&table, application - useful);
        move_serial_start(finder, &table);
        table.elsewhere[PROFILE_BUDGET_USEFUL] = useful;
        move_pauses(finder, &table);
        move_queued(result, &table);
        table.elsewhere[PROFILE_BUDGET_OFF] = off;
        table.elsewhere[PROFILE_BUDGET_END] = fmax(budget->total - application - off, 0);
        fill_budget(&table, budget);
    }
    free(table.places);
    finder_free(finder);
    return good;
}
