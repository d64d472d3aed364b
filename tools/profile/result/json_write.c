/* SPDX-License-Identifier: MIT */
/*
 * See profile.h: writing JSON, of results and of comparisons. The document is made and written one
 * element at a time, one line each, so that a large result needs little additional memory, and the
 * file is readable for people.
 */
#define _GNU_SOURCE
#include "tools/profile/result/profile.h"

#include "util/util.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Values ----------------------------------------------------------------------------------
 * A value is NULL if memory is exhausted.
 */

/* jansson accepts only UTF-8. Invalid bytes become U+FFFD. */
static json_t *repair_string(const char *text)
{
    json_t *value = NULL;
    char *copy = malloc(3 * strlen(text) + 1), *end = copy;
    if (!copy)
        return NULL;
    while (*text) {
        const size_t length = qmpi_text_character_length(text);
        end = mempcpy(end, length ? text : QMPI_TEXT_REPLACEMENT, length ? length : 3);
        text += length ? length : 1;
    }
    *end = '\0';
    value = json_string(copy);
    free(copy);
    return value;
}

/* NULL counts as an empty text. */
static json_t *text_value(const char *text)
{
    json_t *value = json_string(text ? text : "");
    return value ? value : repair_string(text ? text : "");
}

/* JSON has neither infinity nor NAN; 0 takes their place. */
static json_t *real_value(double value)
{
    return json_real(isfinite(value) ? value : 0);
}

/* jansson has no integer above INT64_MAX. */
static json_t *whole_value(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* An array or an object to which values are added. */
struct container {
    json_t *json;
    bool good; /* memory has not been exhausted */
};

static struct container begin_array(void)
{
    json_t *json = json_array();
    return (struct container){json, json != NULL};
}

static struct container begin_object(void)
{
    json_t *json = json_object();
    return (struct container){json, json != NULL};
}

/* Takes ownership of the value. */
static void add_item(struct container *array, json_t *value)
{
    array->good = json_array_append_new(array->json, value) == 0 && array->good;
}

/* Takes ownership of the value. */
static void add_member(struct container *object, const char *name, json_t *value)
{
    object->good = json_object_set_new(object->json, name, value) == 0 && object->good;
}

static void add_text(struct container *object, const char *name, const char *text)
{
    add_member(object, name, text_value(text));
}

static void add_real(struct container *object, const char *name, double value)
{
    add_member(object, name, real_value(value));
}

/* Adds a value that is computed from other members. It is rounded so that it is the same if a file
 * is read and written again. */
static void add_rounded(struct container *object, const char *name, double value)
{
    add_real(object, name, round(value * 1e9) / 1e9);
}

static void add_whole(struct container *object, const char *name, uint64_t value)
{
    add_member(object, name, whole_value(value));
}

static void add_int(struct container *object, const char *name, int value)
{
    add_member(object, name, json_integer(value));
}

static json_t *finish_container(struct container container)
{
    if (container.good)
        return container.json;
    json_decref(container.json);
    return NULL;
}

/* ---- Figures --------------------------------------------------------------------------------- */

static json_t *spread_value(const struct profile_spread *spread)
{
    struct container object = begin_object();
    add_real(&object, "sum", spread->sum);
    add_real(&object, "mean", spread->mean);
    add_real(&object, "min", spread->min);
    add_real(&object, "max", spread->max);
    add_real(&object, "stddev", spread->stddev);
    if (spread->min_rank >= 0)
        add_int(&object, "min_rank", spread->min_rank);
    if (spread->max_rank >= 0)
        add_int(&object, "max_rank", spread->max_rank);
    return finish_container(object);
}

/* Adds the members of struct profile_calls. */
static void add_calls(struct container *object, const struct profile_calls *calls)
{
    struct container bytes = begin_object();
    add_whole(object, "calls", calls->calls);
    add_member(object, "time", spread_value(&calls->time));
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        const double value = profile_figure_get(calls, i);
        if (!profile_figures[i].since && !value)
            continue; /* Readers take a missing member for 0. */
        add_member(object, profile_figures[i].name,
                   profile_figures[i].unit == PROFILE_COUNT ? whole_value((uint64_t)value)
                                                            : real_value(value));
    }
    add_whole(&bytes, "sent", calls->sent);
    add_whole(&bytes, "received", calls->received);
    add_member(object, "bytes", finish_container(bytes));
    if (calls->wait.sum > 0)
        add_member(object, "wait", spread_value(&calls->wait));
}

static json_t *bins_value(const uint64_t *counts, int count)
{
    struct container bins = begin_array();
    for (int bin = 0; bin < count; bin++) {
        if (!counts[bin])
            continue;
        struct container pair = begin_array();
        add_item(&pair, json_integer(bin));
        add_item(&pair, whole_value(counts[bin]));
        add_item(&bins, finish_container(pair));
    }
    return finish_container(bins);
}

/* ---- Members --------------------------------------------------------------------------------- */

static json_t *members_value(const struct member_type *type, const void *element);

static json_t *array_value(const struct member *member, const void *element)
{
    const char *elements = member_pointer(member, element);
    struct container array = begin_array();
    for (size_t i = 0; i < member_count(member, element); i++)
        add_item(&array, members_value(member->type, elements + i * member->type->size));
    return finish_container(array);
}

/* Returns the value of a member, or json_null() if the member is left out. */
static json_t *member_value(const struct member *member, const void *element)
{
    const void *place = (const char *)element + member->offset;
    char text[24];
    int number;
    uint64_t whole;
    double real;
    memcpy(&number, place, sizeof number);
    switch (member->kind) {
    case MEMBER_TEXT:
        return !member_pointer(member, element) && member->is_optional
                   ? json_null()
                   : text_value(member_pointer(member, element));
    case MEMBER_INT:
        return member->is_optional && number <= member->absent ? json_null() : json_integer(number);
    case MEMBER_WHOLE:
        memcpy(&whole, place, sizeof whole);
        return member->is_optional && !whole ? json_null() : whole_value(whole);
    case MEMBER_REAL:
        memcpy(&real, place, sizeof real);
        return member->is_optional && !(real > 0) ? json_null() : real_value(real);
    case MEMBER_FLAG:
        return *(const bool *)place ? json_true() : json_null();
    case MEMBER_BOOLEAN:
        return json_boolean(*(const bool *)place);
    case MEMBER_BITS:
        memcpy(&whole, place, sizeof whole);
        if (member->is_optional && !whole)
            return json_null();
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)whole);
        return text_value(text);
    case MEMBER_SPREAD:
        return spread_value(place);
    case MEMBER_BINS:
        return bins_value(place, member->bins);
    case MEMBER_ARRAY:
    case MEMBER_FRAMES:
        return member->is_optional && !member_count(member, element) ? json_null()
                                                                     : array_value(member, element);
    default:
        return json_null();
    }
}

static void add_members(struct container *object, const struct member_type *type,
                        const void *element)
{
    for (const struct member *member = type->members; member->kind != MEMBER_END; member++) {
        if (member->kind == MEMBER_CALLS) {
            add_calls(object, (const void *)((const char *)element + member->offset));
            continue;
        }
        json_t *value = member->name ? member_value(member, element) : json_null();
        if (!json_is_null(value))
            add_member(object, member->name, value);
    }
}

static json_t *members_value(const struct member_type *type, const void *element)
{
    struct container object = begin_object();
    add_members(&object, type, element);
    return finish_container(object);
}

/* Adds a table by columns: this is shorter, and spreadsheets and data frames accept it. An optional
 * column is left out if it has no number above 0. */
static void add_columns(struct container *object, const char *name, const struct member_type *type,
                        const void *elements, size_t count)
{
    struct container columns = begin_object();
    for (const struct member *member = type->members; member->kind != MEMBER_END; member++) {
        struct member column = *member;
        struct container values = begin_array();
        bool is_needed = !member->is_optional;
        column.is_optional = false;
        for (size_t i = 0; i < count; i++) {
            json_t *value = member_value(&column, (const char *)elements + i * type->size);
            is_needed = is_needed || json_number_value(value) > 0;
            add_item(&values, value);
        }
        if (is_needed)
            add_member(&columns, member->name, finish_container(values));
        else
            json_decref(values.json);
    }
    if (count)
        add_member(object, name, finish_container(columns));
    else
        json_decref(columns.json);
}

/* ---- Calls by rank --------------------------------------------------------------------------- */

/* Calls that take less than 1 % of the run cause no finding about lost time, whatever the threshold
 * is. Results that can still be merged list the calling ranks of all calls. */
static bool may_be_found(const struct profile_result *result, const struct profile_calls *calls)
{
    const double least_threshold = 0.01;
    return result->termination ||
           calls->time.max + calls->wait.max >= least_threshold * result->application.max;
}

/* The ranks that made the calls (`callers`) are left out if a reader can choose them from the
 * listed ranks. */
static void add_callers(struct container *object, const struct profile_by_rank *callers,
                        struct profile_by_rank *listed)
{
    profile_merge_choose_callers(listed);
    bool is_same = listed->count == callers->count;
    for (size_t i = 0; i < callers->count && is_same; i++)
        is_same = listed->all[i].rank == callers->all[i].rank;
    if (!is_same)
        add_columns(object, "callers", &members_rank_calls, callers->all, callers->count);
}

static void add_rank_lists(struct container *object, const struct profile_result *result,
                           const struct profile_calls *calls, const struct profile_by_rank *by_rank,
                           const struct profile_by_rank *callers)
{
    struct profile_by_rank listed = {calloc(by_rank->count + 1, sizeof *listed.all), 0};
    if (!listed.all) {
        object->good = false;
        return;
    }
    for (size_t i = 0; i < by_rank->count; i++) {
        if (profile_rank_is_listed(result, calls, &by_rank->all[i]))
            listed.all[listed.count++] = by_rank->all[i];
    }
    add_columns(object, "by_rank", &members_rank_calls, listed.all, listed.count);
    if (may_be_found(result, calls))
        add_callers(object, callers, &listed);
    free(listed.all);
}

/* ---- Elements of a result -------------------------------------------------------------------- */

static json_t *function_value(const struct profile_result *result, const void *element)
{
    const struct profile_function *it = element;
    struct container object = begin_object();
    add_members(&object, &members_function, it);
    add_rank_lists(&object, result, &it->calls, &it->by_rank, &it->callers);
    return finish_container(object);
}

static json_t *frames_value(const struct profile_frame *its, int count)
{
    struct container array = begin_array();
    for (int i = 0; i < count; i++)
        add_item(&array, members_value(&members_frame, &its[i]));
    return finish_container(array);
}

/* Adds the number of a call site in the document. */
static void add_callsite_number(struct container *object, const char *name,
                                const struct profile_result *result, uint64_t key)
{
    const struct profile_callsite *site = key ? profile_callsite_find(result, key) : NULL;
    if (site)
        add_whole(object, name, (uint64_t)(site - result->callsites));
}

static json_t *outside_value(const struct profile_result *result, const void *element)
{
    const struct profile_outside *it = element;
    struct container object = begin_object();
    add_callsite_number(&object, "from", result, it->from);
    add_callsite_number(&object, "to", result, it->to);
    add_members(&object, &members_outside, it);
    add_columns(&object, "by_rank", &members_outside_rank, it->ranks.all, it->ranks.count);
    return finish_container(object);
}

static json_t *callsite_value(const struct profile_result *result, const void *element)
{
    const struct profile_callsite *it = element;
    struct container object = begin_object();
    add_members(&object, &members_callsite, it);
    add_rank_lists(&object, result, &it->calls, &it->by_rank, &it->callers);
    add_columns(&object, "waits", &members_wait, it->waits.all, it->waits.count);
    return finish_container(object);
}

static json_t *efficiency_value(const struct profile_efficiency *efficiency)
{
    struct profile_efficiency_figure figures[PROFILE_EFFICIENCY_FIGURES];
    struct container object = begin_object();
    const int count = profile_efficiency_list(efficiency, figures);
    for (int i = 0; i < count; i++)
        add_rounded(&object, figures[i].name, figures[i].value);
    return finish_container(object);
}

static json_t *region_value(const struct profile_result *result, const void *element)
{
    const struct profile_region *it = element;
    struct profile_efficiency found;
    struct container object = begin_object();
    add_members(&object, &members_region_head, it);
    if (it->node_count)
        add_members(&object, &members_region_useful, it);
    if (it->node_count && profile_efficiency_find(result, it, &found))
        add_member(&object, "efficiency", efficiency_value(&found));
    add_members(&object, &members_region_rest, it);
    return finish_container(object);
}

static json_t *hosts_value(const struct profile_host *hosts, size_t count)
{
    struct container array = begin_array();
    for (size_t i = 0; i < count; i++) {
        struct container object = begin_object();
        add_text(&object, "host", hosts[i].name);
        add_int(&object, "ranks", hosts[i].ranks);
        add_item(&array, finish_container(object));
    }
    return finish_container(array);
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* Adds a call site. `callsites` is the array of call sites in the document. If it is NULL, the
 * number of the call site is left out. */
static void add_place(struct container *object, const struct profile_callsite *site,
                      const struct profile_callsite *callsites)
{
    const struct profile_frame *frame = site->frame_count ? site->frames : NULL;
    add_text(object, "function", site->name);
    if (frame && frame->file)
        add_text(object, "file", frame->file);
    if (frame && frame->file && frame->line > 0)
        add_int(object, "line", frame->line);
    if (callsites)
        add_whole(object, "callsite", (uint64_t)(site - callsites));
}

static json_t *place_value(const struct profile_callsite *site,
                           const struct profile_callsite *callsites)
{
    struct container object = begin_object();
    add_place(&object, site, callsites);
    return finish_container(object);
}

static json_t *excess_value(const struct profile_finding *it,
                            const struct profile_callsite *callsites)
{
    struct container object = begin_object();
    add_real(&object, "seconds", it->excess);
    if (it->from)
        add_member(&object, "from", place_value(it->from, callsites));
    if (it->to)
        add_member(&object, "to", place_value(it->to, callsites));
    return finish_container(object);
}

/* For `callsites`, see add_place. */
static json_t *finding_value(const struct profile_finding *it,
                             const struct profile_callsite *callsites)
{
    struct container object = begin_object();
    add_text(&object, "kind", profile_finding_kind_name(it));
    add_text(&object, "summary", it->summary);
    add_text(&object, "meaning", it->meaning);
    add_text(&object, "advice", it->advice);
    add_real(&object, "seconds", it->seconds);
    add_real(&object, "share", it->share);
    add_int(&object, "rank", it->rank);
    if (it->peer >= 0)
        add_int(&object, "peer", it->peer);
    if (it->site)
        add_place(&object, it->site, callsites);
    if (it->region)
        add_text(&object, "region", it->region);
    if (it->end > 0) {
        add_rounded(&object, "begin", it->begin);
        add_rounded(&object, "end", it->end);
    }
    if (it->excess > 0)
        add_member(&object, "outside", excess_value(it, callsites));
    return finish_container(object);
}

static json_t *findings_value(const struct profile_result *result,
                              const struct profile_findings *findings)
{
    struct container array = begin_array();
    for (int i = 0; i < findings->count; i++)
        add_item(&array, finding_value(&findings->all[i], result->callsites));
    return finish_container(array);
}

/* ---- Loss budget ----------------------------------------------------------------------------- */

static json_t *budget_item_value(const struct profile_result *result, enum profile_budget_part part,
                                 const struct profile_budget_item *item)
{
    struct container object = begin_object(), places = begin_array();
    for (int i = 0; i < item->place_count; i++) {
        struct container place = begin_object();
        if (item->places[i].site)
            add_place(&place, item->places[i].site, result->callsites);
        else
            add_text(&place, "function", item->places[i].name);
        add_rounded(&place, "seconds", item->places[i].seconds);
        add_item(&places, finish_container(place));
    }
    add_text(&object, "part", profile_budget_name(part));
    add_rounded(&object, "seconds", item->seconds);
    add_rounded(&object, "share", item->share);
    add_member(&object, "places", finish_container(places));
    return finish_container(object);
}

/* Contains all parts, also those without time, so that they add up to the total. */
static json_t *budget_value(const struct profile_result *result,
                            const struct profile_budget *budget)
{
    enum profile_budget_part order[PROFILE_BUDGET_PARTS];
    struct container object = begin_object(), items = begin_array();
    profile_budget_order(budget, order);
    for (int i = 0; i < PROFILE_BUDGET_PARTS; i++)
        add_item(&items, budget_item_value(result, order[i], &budget->items[order[i]]));
    add_rounded(&object, "total", budget->total);
    add_member(&object, "parts", finish_container(items));
    return finish_container(object);
}

/* ---- Efficiency over time -------------------------------------------------------------------- */

enum { UNITS_PER_PERCENT = PROFILE_WINDOW_WHOLE / 100 };

/* Returns an array of percentages. */
static json_t *percentages_value(const unsigned char *parts, size_t count)
{
    struct container array = begin_array();
    for (size_t i = 0; i < count; i++)
        add_item(&array, parts[i] % UNITS_PER_PERCENT
                             ? json_real(parts[i] / (double)UNITS_PER_PERCENT)
                             : json_integer(parts[i] / UNITS_PER_PERCENT));
    return finish_container(array);
}

static json_t *window_rank_value(const struct profile_window_rank *it)
{
    struct container object = begin_object();
    add_members(&object, &members_window_rank, it);
    add_member(&object, "mpi", percentages_value(it->mpi, it->count));
    if (it->profiled)
        add_member(&object, "profiled", percentages_value(it->profiled, it->count));
    return finish_container(object);
}

/* Returns a figure of struct profile_window_efficiency, at `offset`, of each window; null where it
 * is unknown. */
static json_t *window_figures_value(const struct profile_windows *windows, size_t offset)
{
    const size_t count = profile_windows_count(windows);
    struct container array = begin_array();
    for (size_t i = 0; i < count; i++) {
        struct profile_window_efficiency it;
        double figure;
        const bool known = profile_windows_find(windows, i, i + 1, &it);
        memcpy(&figure, (const char *)&it + offset, sizeof figure);
        add_item(&array, known ? json_real(round(figure * 1000) / 1000) : json_null());
    }
    return finish_container(array);
}

/* ---- The document ---------------------------------------------------------------------------- */

enum { DIGITS = 15 };

struct stream {
    FILE *file;
    size_t flags; /* of jansson */
};

static struct stream make_stream(FILE *file, int digits)
{
    return (struct stream){file,
                           JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION((size_t)digits)};
}

/* Takes ownership of the value. Returns false if the value is NULL. Whoever opened the stream
 * checks it for errors. */
static bool put_value(const struct stream *stream, json_t *value)
{
    const bool good = value != NULL;
    if (good)
        json_dumpf(value, stream->file, stream->flags);
    json_decref(value);
    return good;
}

static bool put_member(const struct stream *stream, const char *name, json_t *value)
{
    fprintf(stream->file, ",\n\"%s\":", name);
    return put_value(stream, value);
}

/* Puts each element of an array on a line of its own. */
static bool put_array(const struct stream *stream, const struct profile_result *result,
                      const struct member *member, const void *element)
{
    const char *elements = member_pointer(member, element);
    bool good = true;
    fprintf(stream->file, ",\n\"%s\":[", member->name);
    for (size_t i = 0; i < member_count(member, element) && good; i++) {
        const void *it = elements + i * member->type->size;
        fputs(i ? ",\n" : "\n", stream->file);
        good = put_value(stream, member->type == &members_function   ? function_value(result, it)
                                 : member->type == &members_callsite ? callsite_value(result, it)
                                 : member->type == &members_outside  ? outside_value(result, it)
                                 : member->type == &members_region   ? region_value(result, it)
                                 : member->type == &members_window_rank
                                     ? window_rank_value(it)
                                     : members_value(member->type, it));
    }
    fputs("]", stream->file);
    return good;
}

/* Puts each member on its own line, or each element of a member that is an array. */
static bool put_members(const struct stream *stream, const struct profile_result *result,
                        const struct member_type *type)
{
    bool good = true;
    for (const struct member *member = type->members; member->kind != MEMBER_END; member++) {
        json_t *value = member->kind == MEMBER_ARRAY ? NULL : member_value(member, result);
        if (member->kind == MEMBER_ARRAY && member->is_optional && !member_count(member, result))
            continue;
        if (member->kind == MEMBER_ARRAY)
            good = put_array(stream, result, member, result) && good;
        else if (!json_is_null(value))
            good = put_member(stream, member->name, value) && good;
    }
    return good;
}

static int schema_of(const struct profile_result *result)
{
    return result->schema ? result->schema : PROFILE_SCHEMA;
}

static bool put_head(const struct stream *stream, const struct profile_result *result)
{
    struct profile_budget budget;
    struct profile_efficiency found;
    struct profile_findings findings;
    fprintf(stream->file, "{\"schema\":\"qmpi-profile/%d\"", schema_of(result));
    struct profile_host *hosts;
    const size_t host_count = profile_hosts_list(result, &hosts);
    bool good = put_members(stream, result, &members_result_head);
    if (host_count)
        good = put_member(stream, "nodes", hosts_value(hosts, host_count)) && good;
    free(hosts);
    if (profile_budget_find(result, &budget))
        good = put_member(stream, "budget", budget_value(result, &budget)) && good;
    if (profile_findings_find(result, &findings))
        good = put_member(stream, "findings", findings_value(result, &findings)) && good;
    if (profile_efficiency_find(result, NULL, &found))
        good = put_member(stream, "efficiency", efficiency_value(&found)) && good;
    return good;
}

static bool put_windows(const struct stream *stream, const struct profile_result *result)
{
    static const struct {
        const char *name;
        size_t offset;
    } figures[] = {
        {"parallel_efficiency", offsetof(struct profile_window_efficiency, parallel)},
        {"load_balance", offsetof(struct profile_window_efficiency, balance)},
        {"communication_efficiency", offsetof(struct profile_window_efficiency, communication)},
    };
    const struct profile_windows *windows = &result->windows;
    const struct member *width = &members_windows.members[0], *ranks = width + 1;
    const size_t count = profile_windows_count(windows);
    if (!count)
        return true;
    fprintf(stream->file, ",\n\"windows\":{\"count\":%zu", count);
    bool good = put_member(stream, width->name, member_value(width, windows));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        good =
            put_member(stream, figures[i].name, window_figures_value(windows, figures[i].offset)) &&
            good;
    good = put_array(stream, result, ranks, windows) && good;
    fputs("}", stream->file);
    return good;
}

bool profile_json_print_rounded(FILE *file, const struct profile_result *result, int digits)
{
    const struct stream target = make_stream(file, digits);
    const struct stream *stream = &target;
    const bool good =
        put_head(stream, result) &&
        (schema_of(result) < 2 || put_members(stream, result, &members_result_unfinished)) &&
        put_members(stream, result, &members_result_arrays) && put_windows(stream, result);
    fputs("}\n", file);
    return good;
}

bool profile_json_print(FILE *stream, const struct profile_result *result)
{
    return profile_json_print_rounded(stream, result, DIGITS);
}

bool profile_json_write(const struct profile_result *result, const char *path, char **problem)
{
    struct profile_output output;
    if (!profile_output_open(&output, path, problem))
        return false;
    const bool good = profile_json_print(output.stream, result);
    return profile_output_close(&output, good, problem);
}

/* ---- Elements of a comparison ---------------------------------------------------------------- */

static json_t *figure_value(double value, enum compare_unit unit)
{
    if (isnan(value))
        return json_null();
    return unit == COMPARE_COUNT || unit == COMPARE_BYTES
               ? whole_value(value < (double)INT64_MAX ? (uint64_t)value : INT64_MAX)
               : real_value(value);
}

/* Adds the values of each figure, one per run. */
static void add_figures(struct container *object, const struct compare_result *comparison,
                        const struct compare_table *table, const struct compare_entry *entry)
{
    for (int figure = 0; figure < table->figure_count; figure++) {
        struct container values = begin_array();
        for (int run = 0; run < comparison->run_count; run++) {
            const double value = compare_value(comparison, entry, figure, run);
            add_item(&values,
                     figure_value(entry->has[run] ? value : NAN, table->figures[figure].unit));
        }
        add_member(object, table->figures[figure].name, finish_container(values));
    }
}

/* Returns the frames of a call site in each run; null for a run without it. */
static json_t *frames_by_run_value(const struct compare_result *comparison,
                                   const struct compare_entry *entry)
{
    struct container array = begin_array();
    for (int run = 0; run < comparison->run_count; run++) {
        const struct profile_callsite *site = entry->sites[run];
        add_item(&array, site ? frames_value(site->frames, site->frame_count) : json_null());
    }
    return finish_container(array);
}

static json_t *run_value(const struct compare_result *comparison, size_t number)
{
    const struct profile_run *it = &comparison->runs[number];
    struct container object = begin_object();
    add_text(&object, "file", it->name);
    add_int(&object, "files", it->files);
    add_text(&object, "program", it->result->program);
    add_text(&object, "mpi", it->result->mpi);
    add_text(&object, "begin", it->result->begin);
    add_int(&object, "ranks", it->result->ranks);
    if (it->result->rank >= 0)
        add_int(&object, "rank", it->result->rank);
    if (it->result->termination)
        add_text(&object, "ending", it->result->termination);
    if (number) {
        char sentence[COMPARE_SENTENCE];
        compare_describe(comparison, (int)number, sentence, sizeof sentence);
        add_text(&object, "summary", sentence);
    }
    return finish_container(object);
}

static json_t *limit_value(const struct compare_result *comparison, size_t number)
{
    const struct compare_limit *limit = &comparison->limits[number];
    struct container object = begin_object(), worse = begin_array(), exceeded = begin_array();
    for (int run = 0; run < comparison->run_count; run++) {
        const double percent = run ? compare_worsening(comparison, limit->name, run) : 0;
        add_item(&worse, isfinite(percent) ? json_real(percent) : json_null());
        add_item(&exceeded, json_boolean(run && compare_exceeds(comparison, limit, run)));
    }
    add_text(&object, "figure", limit->name);
    add_member(&object, "percent", json_real(limit->percent));
    add_member(&object, "worse", finish_container(worse));
    add_member(&object, "exceeded", finish_container(exceeded));
    return finish_container(object);
}

static json_t *pair_value(const struct compare_result *comparison, size_t number)
{
    const struct compare_finding *pair = &comparison->pairs[number];
    const char *kind = NULL;
    struct container object = begin_object(), runs = begin_array();
    for (int run = 0; run < comparison->run_count; run++) {
        const struct profile_finding *it = pair->runs[run];
        add_item(&runs, it ? finding_value(it, NULL) : json_null());
        kind = it ? profile_finding_kind_name(it) : kind;
    }
    static const char *const changes[] = {
        [COMPARE_NEW] = "new", [COMPARE_GONE] = "gone", [COMPARE_STILL] = "remains"};
    add_text(&object, "kind", kind);
    add_text(&object, "change", changes[compare_change_of(comparison, pair)]);
    add_member(&object, "runs", finish_container(runs));
    return finish_container(object);
}

static json_t *entry_value(const struct compare_result *comparison, enum compare_kind kind,
                           size_t number)
{
    const struct compare_table *table = &comparison->tables[kind];
    const struct compare_entry *it = &table->entries[number];
    struct container object = begin_object();
    if (*it->name)
        add_text(&object, "name", it->name);
    if (kind == COMPARE_CALLSITES)
        add_member(&object, "frames", frames_by_run_value(comparison, it));
    if (kind == COMPARE_WAITS)
        add_whole(&object, "callsite", it->site);
    if (it->rank >= 0)
        add_int(&object, "rank", it->rank);
    if (kind == COMPARE_WAITS)
        add_int(&object, "peer", it->peer);
    add_figures(&object, comparison, table, it);
    return finish_container(object);
}

/* ---- The document of a comparison ------------------------------------------------------------ */

typedef json_t *run_converter(const struct compare_result *comparison, size_t number);

static bool put_compared(const struct stream *stream, const struct compare_result *comparison,
                         const char *name, size_t count, run_converter *convert)
{
    bool good = true;
    fprintf(stream->file, ",\n\"%s\":[", name);
    for (size_t i = 0; i < count && good; i++) {
        fputs(i ? ",\n" : "\n", stream->file);
        good = put_value(stream, convert(comparison, i));
    }
    fputs("]", stream->file);
    return good;
}

static bool put_entries(const struct stream *stream, const struct compare_result *comparison,
                        enum compare_kind kind)
{
    const struct compare_table *table = &comparison->tables[kind];
    const bool several = kind > COMPARE_EFFICIENCY;
    bool good = true;
    fprintf(stream->file, ",\n\"%s\":%s", table->name, several ? "[" : "");
    for (size_t i = 0; i < table->entry_count && good; i++) {
        fputs(i ? ",\n" : several ? "\n" : "", stream->file);
        good = put_value(stream, entry_value(comparison, kind, i));
    }
    fputs(several ? "]" : "", stream->file);
    return good;
}

bool profile_compare_print_json(FILE *file, const struct compare_result *comparison)
{
    const struct stream target = make_stream(file, DIGITS);
    const struct stream *stream = &target;
    fputs("{\"schema\":\"qmpi-comparison/1\"", file);
    bool good =
        put_compared(stream, comparison, "runs", (size_t)comparison->run_count, run_value) &&
        put_compared(stream, comparison, "limits", (size_t)comparison->limit_count, limit_value) &&
        put_compared(stream, comparison, "findings", comparison->pair_count, pair_value);
    for (int kind = 0; kind < COMPARE_TABLES && good; kind++)
        good = put_entries(stream, comparison, (enum compare_kind)kind);
    fputs("}\n", file);
    return good;
}
