/* SPDX-License-Identifier: MIT */
/* What is known of operations that have not completed, by their number. */
#ifndef QMPI_TRACE_PENDING_H
#define QMPI_TRACE_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_REQUEST_FREE }; /* of `kind`: there is no operation; all others are the user's */
struct trace_request {
    uint64_t number;
    unsigned kind;
    uint32_t object;
    uint64_t value;
};
struct trace_pending {
    struct trace_request *all; /* by hash */
    size_t count, room;
};

/* False: memory is exhausted. */
bool trace_pending_add(struct trace_pending *requests, const struct trace_request *request);

/* NULL: nothing is known of it. */
struct trace_request *trace_pending_find(const struct trace_pending *requests, uint64_t number);

/* Removes one that was found, which is invalid then. */
void trace_pending_remove(struct trace_pending *requests, struct trace_request *request);

void trace_pending_clear(struct trace_pending *requests);

#endif
