/* SPDX-License-Identifier: MIT */
/*
 * The requests of the program whose completion concerns a clock: receives, nonblocking collectives,
 * MPI_Comm_idup, and all persistent requests. They are found by their handles. As soon as MPI has
 * completed a request, another thread may start one with the same handle: of two requests with one
 * handle, the older one is the one that completes.
 *
 * Their memory is used again, and never freed. All functions: under the lock of the path.
 */
#ifndef QMPI_TOOL_PROFILE_PATH_REQUESTS_H
#define QMPI_TOOL_PROFILE_PATH_REQUESTS_H

#include "path/roles.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>
#include <stdint.h>

struct path_comm;
struct path_stream;

enum path_kind { PATH_RECEIVE, PATH_SEND, PATH_REDUCTION, PATH_COPY };

struct path_request {
    MPI_Request request; /* of the program */
    enum path_kind kind;
    bool is_persistent, is_active;
    struct path_comm *comm;
    int dest, send_tag; /* of a persistent send; dest MPI_PROC_NULL: none */
    /* A receive: */
    int source, tag;   /* may be MPI_ANY_SOURCE, MPI_ANY_TAG */
    bool is_cancelled; /* or received: not known yet */
    bool is_freed;     /* nobody sees it complete */
    bool has_status;   /* not of MPI_Isendrecv: MPI libraries leave its status as it was */
    bool is_resolved;  /* the following are known */
    int matched_source, matched_tag;           /* matched_source MPI_PROC_NULL: no message */
    uint64_t serial;                           /* grows in the order in which receives are posted */
    struct path_stream *stream;                /* NULL: it may take messages of several */
    struct path_request *previous, *following; /* posted in the stream or, if none, the comm */
    /* A collective, or a copy: */
    enum path_direction direction;
    int root;
    MPI_Request clocks; /* of the collective on the shadow */
    uint64_t sent, result;
    uint64_t *received; /* one of each neighbor; NULL: `result` is what came */
    const void *copied; /* where the program will find the copy, to which argument `created` of */
    const QMPIX_Function *function; /* `function` leads */
    int created;
    MPI_Comm shadow; /* of the copy */
    MPI_Request copying;
    struct path_request *next;           /* in the bucket, or unused */
    struct path_request *next_completed; /* by the same call */
};

enum { PATH_BUCKET_BITS = 10 };
struct path_requests {
    struct path_request *buckets[1 << PATH_BUCKET_BITS], *unused;
};

/* A new one; NULL: memory is exhausted. */
struct path_request *path_request_add(struct path_requests *requests, MPI_Request request);

/* The oldest with this handle; NULL: none. */
struct path_request *path_request_find(const struct path_requests *requests, MPI_Request request);

/* Takes it out of the table: its handle is not its any more. It stays valid. */
void path_request_detach(struct path_requests *requests, struct path_request *request);

/* Gives the memory of a detached one back. */
void path_request_drop(struct path_requests *requests, struct path_request *request);

#endif
