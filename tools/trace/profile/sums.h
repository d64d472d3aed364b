/* SPDX-License-Identifier: MIT */
/*
 * The profile of one process, which is summed up while its events are read in order of time: times
 * and bytes of each kind of call. The events between enter and leave contain the bytes of a call,
 * which are added when the call ends. When a nonblocking receive, collective or file access
 * completes, its bytes are added to the call that began it. Times are in ticks of the process.
 */
#ifndef QMPI_TRACE_PROFILE_SUMS_H
#define QMPI_TRACE_PROFILE_SUMS_H

#include "tools/profile/result/profile.h"
#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event.h"
#include "tools/trace/file/map.h"
#include "tools/trace/file/reader.h"
#include "util/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Functions ------------------------------------------------------------------------------- */

struct trace_sums_role {
    bool begins_mpi, ends_mpi, aborts; /* MPI_Init, MPI_Finalize, MPI_Abort */
    bool begins_session, ends_session;
    bool posts;    /* begins receives that complete later */
    bool starts;   /* MPI_Start, MPI_Startall */
    bool has_comm; /* the events of its messages contain its communicator */
    bool is_one_sided, has_transfers;
    bool polls;               /* tests or probes without waiting */
    bool completes;           /* completes requests, and may wait for them */
    bool may_wait;            /* may wait for the peer of its message */
    bool sends_synchronously; /* a nonblocking synchronous send */
    bool fetches;             /* an atomic access that returns a result */
    bool frees_comm;
};

struct trace_sums_role trace_sums_find_role(const struct trace_function *function);

/* ---- Sums of calls --------------------------------------------------------------------------- */

struct trace_sums_calls {
    uint64_t calls, time;
    uint64_t shortest, longest, polling; /* see tools/profile/result/figures.h */
    uint64_t sent, received;
};

/* The sums of a function while a set of regions was open. */
struct trace_sums_function {
    /* `node` is the set of open regions: see struct trace_sums_region_set. */
    uint32_t function, node;
    struct trace_sums_calls sums;
    uint64_t in_mpi; /* time of calls that were not within another call, while application time had
                        begun */
    uint64_t sizes[PROFILE_SIZE_BINS], times[PROFILE_TIME_BINS];
};

struct trace_sums_site {
    uint32_t function, site; /* `site` is TRACE_NONE if it was not recorded */
    struct trace_sums_calls sums;
    uint64_t messages;
    struct trace_sums_wait {
        int peer;
        uint64_t calls, time;
        uint64_t last_call; /* the number of the last call that waited */
    } * waits;
    size_t wait_count, wait_room;
};

struct trace_sums_pair {
    uint64_t messages, bytes;
};

void trace_sums_add(struct trace_sums_calls *sums, uint64_t time, uint64_t sent, uint64_t received);

/* Returns the bin of a number in a histogram with `bins` bins: see profile_function. */
unsigned trace_sums_bin(uint64_t number, unsigned bins);

/* Sets the figures of one rank. `tick` is the length of a tick in seconds. */
void trace_sums_fill(struct profile_calls *calls, const struct trace_sums_calls *sums, double tick,
                     int rank);
struct profile_spread trace_sums_spread(double value, int rank);

/* Times in windows of equal width, which begin with application time, as in
 * tools/profile/record/windows.h. */
struct trace_sums_windows {
    uint64_t start; /* 0 if application time has not begun */
    uint64_t width;
    int doublings; /* number of times that the initial width was doubled */
    uint64_t times[PROFILE_WINDOWS_MOST];
};

/* `tick` is the length of a tick in seconds. trace_sums_widen_windows doubles the width until it
 * was doubled `doublings` times in total. */
void trace_sums_begin_windows(struct trace_sums_windows *windows, uint64_t start, double tick);
void trace_sums_add_window(struct trace_sums_windows *windows, uint64_t from, uint64_t to);
void trace_sums_widen_windows(struct trace_sums_windows *windows, int doublings);

/* ---- A process ------------------------------------------------------------------------------- */

/* A call that began nonblocking operations. Their bytes are added to the call when they complete.
 */
struct trace_sums_post {
    /* Indices of elements of arrays in struct trace_sums, or TRACE_NONE. */
    uint32_t function, site, comm;
    uint32_t file;
    /* Number of operations that have not completed; 0 if the element is free. */
    uint32_t operations;
    uint32_t next_free;
    uint64_t bytes; /* number of bytes that the call has moved so far */
};

struct trace_sums_call {
    uint32_t function, site, comm, file;
    uint64_t begin;
    uint64_t sent, received;
    uint64_t messages; /* number of messages that contain data */
    bool awaits;       /* the call has posted a receive */
    bool is_apart;     /* the call is within another call */
    bool is_noted;     /* the call was counted when it began, with a time of 0 */
    uint32_t post;     /* index of its struct trace_sums_post, or TRACE_NONE */
    int peer;          /* the peer for which the call may wait, or -1 */
    bool has_peer;
    struct {
        size_t count, room; /* numbers of elements of `peers`, and for which it has room */
        uint64_t bytes;     /* of all messages that the call has completed */
        int *peers;         /* -1 for unknown peers; the next call of this depth uses the memory */
    } completed;
};

struct trace_sums_thread {
    struct trace_sums_call *all;
    size_t depth, room;
    /* The site of the last call that polled, as an index in `sites`, or TRACE_NONE. */
    uint32_t polled;
    uint64_t polled_at;          /* ticks at which that call ended */
    struct trace_event *changes; /* changes of regions, which take effect when the call ends */
    size_t change_count, change_room;
};

/* A set of open regions is a node of a binary trie. Sets are identified by the index of this node
 * in `nodes`; node 0 is the empty set. A leaf (`bit` is 0) is the set of one region, whose number
 * is `prefix`. Any other node joins two nodes with lower indices: `without` contains the regions
 * whose numbers lack `bit`, and `with` those whose numbers have it. The bits above `bit` are equal
 * in all these numbers, and are those of `prefix`. */
struct trace_sums_region_set {
    uint32_t without, with, bit, prefix;
};

struct trace_sums_region {
    uint64_t entries; /* number of times that the region was begun */
    uint64_t open;    /* number of times that it was begun and has not ended */
    uint64_t since;   /* application time at which it was opened */
    uint64_t time;    /* application time within it */
};

struct trace_sums {
    const struct trace *trace;
    const struct trace_process *process;
    struct trace_sums_role *roles; /* [function] */

    /* These are the results. */
    struct trace_map function_keys, site_keys, pair_keys;
    struct trace_map nodes;   /* keys are struct trace_sums_region_set */
    struct trace_map callers; /* threads that called MPI while a set of regions was open */
    struct trace_sums_function *functions;
    struct trace_sums_site *sites;
    struct trace_sums_pair *pairs;
    struct trace_sums_calls *comms, *files; /* [index in the process] */
    uint64_t *opens;                        /* [file] */
    struct trace_sums_region *regions;
    size_t function_room, site_room, pair_room;
    struct trace_sums_windows on, mpi;
    /* Numbers of receives that were posted, and of those that have completed or were cancelled. */
    uint64_t posted, arrived;

    /* This is the state of the reading. */
    struct trace_sums_thread *locations;
    size_t location_count;
    struct qmpi_table pending; /* number of the request -> nonblocking operation */
    /* Index in `sites`, and peer -> 1 + index in `waits` of this site. */
    struct qmpi_table wait_places;
    struct trace_sums_post *posts;
    size_t post_count, post_room;
    uint32_t free_post;
    uint32_t node;   /* the set of open regions */
    bool has_begun;  /* application time has begun */
    bool has_called; /* MPI was called since then */
    bool is_on;
    bool has_world;    /* MPI_Init was called */
    uint64_t on_since; /* 0 while application time is stopped */
    uint64_t on_time;
    size_t sessions;
    uint64_t waiting_calls; /* number of calls that have waited for peers */
    bool is_over;           /* MPI_Finalize has ended */
    bool failed;            /* memory was exhausted */
};

/* Reads a process. Returns false if memory is exhausted. trace_sums_free must be called in any
 * case. */
bool trace_sums_read(struct trace_sums *sums, const struct trace *trace, uint32_t process);
void trace_sums_free(struct trace_sums *sums);

#endif
