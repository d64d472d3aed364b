/* SPDX-License-Identifier: MIT */
/* See csv_row.h: calls by rank, and what has a place in the program. */
#include "profile/csv_row.h"
#include "profile/frames.h"

#include <stdlib.h>

/* Those of the calls by rank that files list. */
static void put_by_rank(struct row *row, const struct profile_result *result, const char *table,
                        const char *name, const char *text, const struct profile_calls *calls,
                        const struct profile_by_rank *by_rank)
{
    for (size_t i = 0; i < by_rank->count; i++) {
        const struct profile_rank_calls *it = &by_rank->all[i];
        if (!profile_rank_is_listed(result, calls, it))
            continue;
        row_set_text(row, COLUMN_name, name);
        row_set_text(row, COLUMN_text, text);
        row_set_number(row, COLUMN_rank, it->rank);
        row_set_whole(row, COLUMN_calls, it->calls);
        row_set_real(row, COLUMN_time_sum, it->time);
        if (calls->wait.sum > 0)
            row_set_real(row, COLUMN_wait_sum, it->wait);
        row_set_whole(row, COLUMN_sent, it->sent);
        row_set_whole(row, COLUMN_received, it->received);
        row_put(row, table);
    }
}

void row_put_functions_by_rank(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->function_count; i++) {
        const struct profile_function *function = &result->functions[i];
        put_by_rank(row, result, "function_rank", function->name, function->group, &function->calls,
                    &function->by_rank);
    }
}

static void put_waits(struct row *row, const struct profile_callsite *site, const char *text)
{
    for (size_t i = 0; i < site->waits.count; i++) {
        const struct profile_wait *wait = &site->waits.all[i];
        row_set_text(row, COLUMN_name, site->name);
        row_set_text(row, COLUMN_text, text);
        row_set_number(row, COLUMN_rank, wait->rank);
        if (wait->peer >= 0)
            row_set_number(row, COLUMN_peer, wait->peer);
        row_set_whole(row, COLUMN_calls, wait->calls);
        row_set_real(row, COLUMN_wait_sum, wait->time);
        row_put(row, "wait");
    }
}

void row_put_callsites(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->callsite_count && row->good; i++) {
        const struct profile_callsite *site = &result->callsites[i];
        char *text = profile_frames_describe(site->frames, site->frame_count);
        row->good = text != NULL;
        row_set_text(row, COLUMN_name, site->name);
        row_set_text(row, COLUMN_text, text);
        row_set_number(row, COLUMN_ranks, site->ranks);
        if (site->messages)
            row_set_whole(row, COLUMN_messages, site->messages);
        row_set_calls(row, &site->calls);
        row_put(row, "callsite");
        put_by_rank(row, result, "callsite_rank", site->name, text, &site->calls, &site->by_rank);
        put_waits(row, site, text);
        free(text);
    }
}

void row_put_flights(struct row *row, const struct profile_result *result)
{
    for (size_t i = 0; i < result->flight_count && row->good; i++) {
        const struct profile_flight *flight = &result->flights[i];
        char *text = profile_frames_describe(flight->frames, flight->frame_count);
        row->good = text != NULL;
        row_set_text(row, COLUMN_name, flight->name);
        row_set_text(row, COLUMN_text, text);
        row_set_number(row, COLUMN_rank, flight->rank);
        row_set_real(row, flight->waits ? COLUMN_wait_sum : COLUMN_time_sum, flight->time);
        row_set_text(row, COLUMN_since, flight->since);
        row_put(row, "in_flight");
        free(text);
    }
}
