/* SPDX-License-Identifier: MIT */
/* What is known of operations that have not completed, by their number. */
#ifndef QMPI_TRACE_OTF2_REQUESTS_H
#define QMPI_TRACE_OTF2_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive_request {
    uint64_t number;
    enum {
        ARCHIVE_FREE,    /* no operation: of messages and collectives nothing needs to be known */
        ARCHIVE_IGNORED, /* it is not in the archive */
        ARCHIVE_ACCESS,  /* one-sided */
        ARCHIVE_FILE
    } kind;
    uint32_t object;   /* window or file */
    uint64_t matching; /* its number in the archive */
};
struct archive_requests {
    struct archive_request *all; /* by hash */
    size_t count, room;
};

/* False: memory is exhausted. */
bool archive_requests_add(struct archive_requests *requests, const struct archive_request *request);

/* NULL: nothing is known of it. */
struct archive_request *archive_requests_find(const struct archive_requests *requests,
                                              uint64_t number);

/* Removes one that was found, which is invalid then. */
void archive_requests_remove(struct archive_requests *requests, struct archive_request *request);

void archive_requests_clear(struct archive_requests *requests);

#endif
