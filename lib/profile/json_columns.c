/* SPDX-License-Identifier: MIT */
/* See json_elements.h: tables that are written by columns. */
#include "profile/json_elements.h"

/* ---- Calls by rank --------------------------------------------------------------------------- */

static const char *const rank_columns[] = {"rank", "calls", "time", "wait", "sent", "received"};
enum { RANK_COLUMNS = sizeof rank_columns / sizeof *rank_columns, RANK_COLUMNS_ALWAYS = 3 };

static json_t *rank_value(const struct profile_rank_calls *calls, int column)
{
    const uint64_t counts[RANK_COLUMNS] = {(uint64_t)calls->rank, calls->calls,   0, 0,
                                           calls->sent,           calls->received};
    const double times[RANK_COLUMNS] = {0, 0, calls->time, calls->wait};
    return column == 2 || column == 3 ? element_real(times[column]) : element_whole(counts[column]);
}

static bool is_needed(const struct profile_by_rank *by_rank, int column)
{
    bool is_needed = column < RANK_COLUMNS_ALWAYS;
    for (size_t i = 0; i < by_rank->count && !is_needed; i++) {
        json_t *value = rank_value(&by_rank->all[i], column);
        is_needed = json_number_value(value) > 0;
        json_decref(value);
    }
    return is_needed;
}

/* By columns, which is shorter, and is what tools for tables take. */
bool element_add_by_rank(json_t *object, const struct profile_result *result,
                         const struct profile_calls *calls, const struct profile_by_rank *by_rank)
{
    json_t *columns = json_object();
    size_t count = 0;
    bool good = columns != NULL;
    for (int column = 0; column < RANK_COLUMNS && good; column++) {
        if (!is_needed(by_rank, column))
            continue;
        json_t *values = json_array();
        for (size_t i = 0; i < by_rank->count && good; i++) {
            if (profile_rank_is_listed(result, calls, &by_rank->all[i]))
                good = json_array_append_new(values, rank_value(&by_rank->all[i], column)) == 0;
        }
        count = json_array_size(values);
        good = json_object_set_new(columns, rank_columns[column], values) == 0 && good;
    }
    if (good && count)
        return json_object_set_new(object, "by_rank", columns) == 0;
    json_decref(columns);
    return good;
}

/* ---- Waiting for peers ----------------------------------------------------------------------- */

/* Adds a column; `value` makes the value of an element. */
static bool add_wait_column(json_t *columns, const char *name, const struct profile_waits *waits,
                            json_t *(*value)(const struct profile_wait *wait))
{
    json_t *values = json_array();
    bool good = values != NULL;
    for (size_t i = 0; i < waits->count && good; i++)
        good = json_array_append_new(values, value(&waits->all[i])) == 0;
    return json_object_set_new(columns, name, values) == 0 && good;
}

static json_t *wait_rank(const struct profile_wait *wait)
{
    return json_integer(wait->rank);
}

static json_t *wait_peer(const struct profile_wait *wait)
{
    return json_integer(wait->peer);
}

static json_t *wait_calls(const struct profile_wait *wait)
{
    return element_whole(wait->calls);
}

static json_t *wait_time(const struct profile_wait *wait)
{
    return element_real(wait->time);
}

bool element_add_waits(json_t *object, const struct profile_waits *waits)
{
    json_t *columns = json_object();
    if (!waits->count) {
        json_decref(columns);
        return true;
    }
    bool good = columns && add_wait_column(columns, "rank", waits, wait_rank);
    good = good && add_wait_column(columns, "peer", waits, wait_peer);
    good = good && add_wait_column(columns, "calls", waits, wait_calls);
    good = good && add_wait_column(columns, "time", waits, wait_time);
    return json_object_set_new(object, "waits", columns) == 0 && good;
}
