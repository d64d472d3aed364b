/* SPDX-License-Identifier: MIT */
/* See requests.h. */
#include "path/requests.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <stdlib.h>

static size_t bucket_of(MPI_Request request)
{
    return HANDLE_WORD(request) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PATH_BUCKET_BITS);
}

struct path_request *path_request_add(struct path_requests *requests, MPI_Request handle)
{
    struct path_request *request = requests->unused;
    if (request)
        requests->unused = request->next;
    else if (!(request = qmpi_arena_take(sizeof *request)))
        return NULL;
    *request = (struct path_request){.request = handle,
                                     .dest = MPI_PROC_NULL,
                                     .clocks = MPI_REQUEST_NULL,
                                     .copying = MPI_REQUEST_NULL,
                                     .shadow = MPI_COMM_NULL};
    struct path_request **end = &requests->buckets[bucket_of(handle)];
    while (*end)
        end = &(*end)->next;
    *end = request;
    return request;
}

struct path_request *path_request_find(const struct path_requests *requests, MPI_Request handle)
{
    struct path_request *request = requests->buckets[bucket_of(handle)];
    while (request && request->request != handle)
        request = request->next;
    return request;
}

void path_request_detach(struct path_requests *requests, struct path_request *request)
{
    struct path_request **place = &requests->buckets[bucket_of(request->request)];
    while (*place && *place != request)
        place = &(*place)->next;
    if (*place)
        *place = request->next;
    request->next = NULL;
}

void path_request_drop(struct path_requests *requests, struct path_request *request)
{
    free(request->received);
    request->received = NULL;
    request->next = requests->unused;
    requests->unused = request;
}
