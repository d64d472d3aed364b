/* SPDX-License-Identifier: MIT */
/*
 * The profile of one process of a trace while its events are read, in the order of their times.
 * What a call moved is told by events between its begin and its end, and summed up at the end; what
 * nonblocking operations moved is added to the call that began them when they complete.
 */
#ifndef QMPI_TRACE_PROFILE_PROCESS_H
#define QMPI_TRACE_PROFILE_PROCESS_H

#include "trace/event.h"
#include "trace/pending.h"
#include "trace/profile/roles.h"
#include "trace/profile/sums.h"
#include "trace/profile/time_windows.h"
#include "trace/reader.h"

enum { COMPLETED_MAX = 32 };

/* A call that began nonblocking operations: where what they moved is counted. */
struct post {
    uint32_t function, site, comm; /* of the arrays of struct process_sums; TRACE_NONE: none */
    uint32_t file;
    uint32_t operations; /* that have not completed; 0: the element is free, */
    uint32_t next_free;
    uint64_t bytes; /* that the call has moved so far */
};

/* Kinds of requests: see struct trace_request. The object is a post, or the rank of a peer. */
enum { PENDING_POST = TRACE_REQUEST_FREE + 1, PENDING_SEND, PENDING_IGNORED };

struct open_call {
    uint32_t function, site, comm, file;
    uint64_t begin;
    uint64_t sent, received;
    uint64_t messages; /* with data */
    uint64_t pairs;    /* transfers */
    bool awaits;       /* it has posted a receive */
    bool is_apart;     /* within another call */
    bool is_noted;     /* already, without time */
    uint32_t post;     /* TRACE_NONE: none */
    int peer;          /* for which it may wait; -1: not known */
    bool has_peer;
    struct {
        size_t count;
        uint64_t bytes;
        int peers[COMPLETED_MAX]; /* -1: not known */
    } completed;
};

struct location_calls {
    struct open_call *all;
    size_t depth, room;
    bool has_called; /* in the run: see tools/profile/collect/snapshot_functions.c */
    uint32_t polled; /* the site at which it last asked */
    uint64_t polled_at;
    struct trace_event *changes; /* of regions, that wait for the end of the call */
    size_t change_count, change_room;
};

struct region_sums {
    uint64_t entries, open, since, time;
};

struct process_sums {
    const struct trace *trace;
    const struct trace_process *process;
    struct role *roles; /* by function */

    /* What was summed up. */
    struct trace_map function_keys, site_keys, pair_keys, nodes;
    struct trace_map callers; /* threads that called MPI in the run, with the set of open regions */
    struct function_sums *functions;
    struct site_sums *sites;
    struct pair_sums *pairs;
    struct sums *comms, *files; /* by index in the process */
    uint64_t *opens;            /* by file */
    struct region_sums *regions;
    size_t function_room, site_room, pair_room;
    struct time_windows on, mpi;
    uint64_t posted, arrived;

    /* Where reading is. */
    struct location_calls *locations;
    size_t location_count;
    struct trace_pending pending;
    struct post *posts;
    size_t post_count, post_room;
    uint32_t free_post;
    uint32_t node;   /* the set of open regions: a number in `nodes` */
    bool has_begun;  /* application time */
    bool has_called; /* since then */
    bool is_on;
    bool has_world;    /* MPI_Init was called */
    uint64_t on_since; /* 0: it stands still */
    uint64_t on_time;
    size_t sessions;
    bool is_over; /* MPI_Finalize has begun */
    bool failed;  /* memory is exhausted */
};

/* Reads a process. False: memory is exhausted. To be cleared in any case. */
bool process_sums_read(struct process_sums *sums, const struct trace *trace, uint32_t process);
void process_sums_clear(struct process_sums *sums);

/* Application time so far. */
uint64_t process_sums_time(const struct process_sums *sums, uint64_t now);

/* Whether a region is in a set of open ones. */
bool process_sums_holds(const struct process_sums *sums, uint32_t node, uint32_t region);

/* A call ends, or `time` is what it took until the process ended. */
void process_sums_note(struct process_sums *sums, struct location_calls *location,
                       struct open_call *call, uint64_t now, uint64_t time);

/* An event between the begin and the end of a call. */
void process_sums_add(struct process_sums *sums, struct open_call *call,
                      const struct trace_event *event);

/* How many threads called MPI in the run, or in a region of it (UINT32_MAX: all); at least one. */
int process_sums_threads(const struct process_sums *sums, uint32_t region);

/* The result, of one rank; NULL: memory is exhausted. */
struct profile_result *process_sums_result(const struct process_sums *sums);

#endif
