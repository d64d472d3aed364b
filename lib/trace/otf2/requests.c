/* SPDX-License-Identifier: MIT */
/* See requests.h: a hash table with open addressing, of which elements are removed without a mark.
 */
#include "trace/otf2/requests.h"

#include <stdlib.h>

static size_t place_of(const struct archive_requests *requests, uint64_t number)
{
    return (number * 11400714819323198485U >> 32) & (requests->room - 1);
}

static struct archive_request *find(const struct archive_requests *requests, uint64_t number)
{
    size_t i = place_of(requests, number);
    while (requests->all[i].kind != ARCHIVE_FREE && requests->all[i].number != number)
        i = (i + 1) & (requests->room - 1);
    return &requests->all[i];
}

static bool grow(struct archive_requests *requests)
{
    struct archive_requests more = {.room = requests->room ? 2 * requests->room : 64,
                                    .count = requests->count};
    more.all = calloc(more.room, sizeof *more.all);
    if (!more.all)
        return false;
    for (size_t i = 0; i < requests->room; i++) {
        if (requests->all[i].kind != ARCHIVE_FREE)
            *find(&more, requests->all[i].number) = requests->all[i];
    }
    free(requests->all);
    *requests = more;
    return true;
}

bool archive_requests_add(struct archive_requests *requests, const struct archive_request *request)
{
    if (requests->count >= requests->room / 2 && !grow(requests))
        return false;
    struct archive_request *place = find(requests, request->number);
    requests->count += place->kind == ARCHIVE_FREE;
    *place = *request;
    return true;
}

struct archive_request *archive_requests_find(const struct archive_requests *requests,
                                              uint64_t number)
{
    struct archive_request *found = requests->count ? find(requests, number) : NULL;
    return found && found->kind != ARCHIVE_FREE ? found : NULL;
}

void archive_requests_remove(struct archive_requests *requests, struct archive_request *request)
{
    const size_t mask = requests->room - 1;
    size_t hole = (size_t)(request - requests->all);
    /* Elements behind it that could not be at their places move into the hole. */
    for (size_t i = (hole + 1) & mask; requests->all[i].kind != ARCHIVE_FREE; i = (i + 1) & mask) {
        const size_t distance = (i - place_of(requests, requests->all[i].number)) & mask;
        if (distance >= ((i - hole) & mask)) {
            requests->all[hole] = requests->all[i];
            hole = i;
        }
    }
    requests->all[hole].kind = ARCHIVE_FREE;
    requests->count--;
}

void archive_requests_clear(struct archive_requests *requests)
{
    free(requests->all);
    *requests = (struct archive_requests){0};
}
