/* SPDX-License-Identifier: MIT */
/*
 * The profile of one process of a trace, summed up while its events are read in the order of their
 * times: the time and the bytes of calls of each kind. Events between enter and leave tell the
 * bytes of a call, which are added when it ends; those of nonblocking operations are added to the
 * call that began them when they complete. Times are in ticks of the process.
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
    bool posts;    /* receives, which complete later */
    bool starts;   /* MPI_Start, MPI_Startall */
    bool has_comm; /* its messages tell its communicator */
    bool is_one_sided, has_transfers;
    bool polls;               /* asks, and does not wait */
    bool completes;           /* requests, and may wait for them */
    bool may_wait;            /* for the peer of its message */
    bool sends_synchronously; /* nonblocking */
    bool fetches;             /* an atomic access with a result */
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
    uint32_t function, node; /* node: see struct trace_sums_region_set */
    struct trace_sums_calls sums;
    uint64_t in_mpi; /* time of calls that were neither within another one nor outside the run */
    uint64_t sizes[PROFILE_SIZE_BINS], times[PROFILE_TIME_BINS];
};

struct trace_sums_site {
    uint32_t function, site; /* site: TRACE_NONE: not recorded */
    struct trace_sums_calls sums;
    uint64_t messages;
    struct trace_sums_wait {
        int peer;
        uint64_t calls, time;
    } * waits;
    size_t wait_count, wait_room;
};

struct trace_sums_pair {
    uint64_t messages, bytes;
};

void trace_sums_add(struct trace_sums_calls *sums, uint64_t time, uint64_t sent, uint64_t received);

/* The bin of a number: see profile_function. */
unsigned trace_sums_bin(uint64_t number, unsigned bins);

/* The figures of one rank. `tick` in seconds. */
void trace_sums_fill(struct profile_calls *calls, const struct trace_sums_calls *sums, double tick,
                     int rank);
struct profile_spread trace_sums_spread(double value, int rank);

/* Time by windows of equal width from the start of application time on, as in
 * tools/profile/record/windows.h. */
struct trace_sums_windows {
    uint64_t start; /* 0: application time has not begun */
    uint64_t width;
    int doublings; /* of the width that they began with */
    uint64_t times[PROFILE_WINDOWS_MOST];
};

void trace_sums_begin_windows(struct trace_sums_windows *windows, uint64_t start, double tick);
void trace_sums_add_window(struct trace_sums_windows *windows, uint64_t from, uint64_t to);
void trace_sums_widen_windows(struct trace_sums_windows *windows, int doublings);

/* ---- A process ------------------------------------------------------------------------------- */

enum { COMPLETED_MAX = 32 };

/* A call that began nonblocking operations: where what they moved is counted. */
struct trace_sums_post {
    uint32_t function, site, comm; /* indices in arrays of struct trace_sums; TRACE_NONE: none */
    uint32_t file;
    uint32_t operations; /* that have not completed; 0: the element is free */
    uint32_t next_free;
    uint64_t bytes; /* that the call has moved so far */
};

struct trace_sums_call {
    uint32_t function, site, comm, file;
    uint64_t begin;
    uint64_t sent, received;
    uint64_t messages; /* with data */
    bool awaits;       /* it has posted a receive */
    bool is_apart;     /* within another call */
    bool is_noted;     /* it was counted when it began, without time */
    uint32_t post;     /* TRACE_NONE: none */
    int peer;          /* for which it may wait; -1: not known */
    bool has_peer;
    struct {
        size_t count;
        uint64_t bytes;
        int peers[COMPLETED_MAX]; /* -1: not known */
    } completed;
};

struct trace_sums_thread {
    struct trace_sums_call *all;
    size_t depth, room;
    uint32_t polled; /* the site at which it last asked */
    uint64_t polled_at;
    struct trace_event *changes; /* of regions; they take effect when the call ends */
    size_t change_count, change_room;
};

/* A node of a binary trie, by its number in `nodes`, is a set of open regions; 0 is empty. A leaf
 * (`bit` is 0) is the region `prefix`. Others join two nodes that have lower numbers than they: the
 * regions whose numbers lack `bit`, and those that have it. Above `bit`, the numbers of all their
 * regions are `prefix`. */
struct trace_sums_region_set {
    uint32_t without, with, bit, prefix;
};

struct trace_sums_region {
    uint64_t entries, open, since, time;
};

struct trace_sums {
    const struct trace *trace;
    const struct trace_process *process;
    struct trace_sums_role *roles; /* by function */

    /* What was summed up. */
    struct trace_map function_keys, site_keys, pair_keys;
    struct trace_map nodes;   /* sets of open regions: struct trace_sums_region_set */
    struct trace_map callers; /* threads that called MPI in the run, with the set of open regions */
    struct trace_sums_function *functions;
    struct trace_sums_site *sites;
    struct trace_sums_pair *pairs;
    struct trace_sums_calls *comms, *files; /* by index in the process */
    uint64_t *opens;                        /* by file */
    struct trace_sums_region *regions;
    size_t function_room, site_room, pair_room;
    struct trace_sums_windows on, mpi;
    uint64_t posted, arrived;

    /* The state of the reading. */
    struct trace_sums_thread *locations;
    size_t location_count;
    struct qmpi_table pending;     /* nonblocking operations, by number */
    struct qmpi_table wait_places; /* in `waits` of a site, by its number and the peer */
    struct trace_sums_post *posts;
    size_t post_count, post_room;
    uint32_t free_post;
    uint32_t node;   /* the set of open regions */
    bool has_begun;  /* application time */
    bool has_called; /* since then */
    bool is_on;
    bool has_world;    /* MPI_Init was called */
    uint64_t on_since; /* 0: application time stands still */
    uint64_t on_time;
    size_t sessions;
    bool is_over; /* MPI_Finalize has ended */
    bool failed;  /* memory is exhausted */
};

/* Reads a process. False: memory is exhausted. Call trace_sums_free in any case. */
bool trace_sums_read(struct trace_sums *sums, const struct trace *trace, uint32_t process);
void trace_sums_free(struct trace_sums *sums);

#endif
