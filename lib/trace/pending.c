/* SPDX-License-Identifier: MIT */
/* See pending.h: a hash table with open addressing, of which elements are removed without a mark.
 */
#include "trace/pending.h"

#include <stdlib.h>

static size_t place_of(const struct trace_pending *requests, uint64_t number)
{
    return (number * 11400714819323198485U >> 32) & (requests->room - 1);
}

static struct trace_request *find(const struct trace_pending *requests, uint64_t number)
{
    size_t i = place_of(requests, number);
    while (requests->all[i].kind != TRACE_REQUEST_FREE && requests->all[i].number != number)
        i = (i + 1) & (requests->room - 1);
    return &requests->all[i];
}

static bool grow(struct trace_pending *requests)
{
    struct trace_pending more = {.room = requests->room ? 2 * requests->room : 64,
                                 .count = requests->count};
    more.all = calloc(more.room, sizeof *more.all);
    if (!more.all)
        return false;
    for (size_t i = 0; i < requests->room; i++) {
        if (requests->all[i].kind != TRACE_REQUEST_FREE)
            *find(&more, requests->all[i].number) = requests->all[i];
    }
    free(requests->all);
    *requests = more;
    return true;
}

bool trace_pending_add(struct trace_pending *requests, const struct trace_request *request)
{
    if (requests->count >= requests->room / 2 && !grow(requests))
        return false;
    struct trace_request *place = find(requests, request->number);
    requests->count += place->kind == TRACE_REQUEST_FREE;
    *place = *request;
    return true;
}

struct trace_request *trace_pending_find(const struct trace_pending *requests, uint64_t number)
{
    struct trace_request *found = requests->count ? find(requests, number) : NULL;
    return found && found->kind != TRACE_REQUEST_FREE ? found : NULL;
}

void trace_pending_remove(struct trace_pending *requests, struct trace_request *request)
{
    const size_t mask = requests->room - 1;
    size_t hole = (size_t)(request - requests->all);
    /* Elements behind it that could not be at their places move into the hole. */
    for (size_t i = (hole + 1) & mask; requests->all[i].kind != TRACE_REQUEST_FREE;
         i = (i + 1) & mask) {
        const size_t distance = (i - place_of(requests, requests->all[i].number)) & mask;
        if (distance >= ((i - hole) & mask)) {
            requests->all[hole] = requests->all[i];
            hole = i;
        }
    }
    requests->all[hole].kind = TRACE_REQUEST_FREE;
    requests->count--;
}

void trace_pending_clear(struct trace_pending *requests)
{
    free(requests->all);
    *requests = (struct trace_pending){0};
}
