/* SPDX-License-Identifier: MIT */
/*
 * The interface between merge.c and the kinds of array elements in a result: their order, and how
 * an element is added to the same one of the other side. Adding cannot fail, because merge_prepare
 * allocates all memory before anything is changed.
 */
#ifndef QMPI_PROFILE_MERGE_PARTS_H
#define QMPI_PROFILE_MERGE_PARTS_H

#include "profile/result.h"

struct merge_side {
    int ranks;
    const struct profile_process *processes; /* in the order of their ranks */
    size_t process_count;
};

struct sides {
    struct merge_side mine, its;
    bool every_rank; /* see profile_result */
    bool absent;     /* its side lacks the element: its ranks have 0 */
};

struct merge_kind {
    size_t size;
    int (*compare)(const void *mine, const void *its);
    /* Allocates the memory that `add` needs in `mine`; NULL: none. `its` is NULL if the element is
     * missing on one side. Returns false if memory is exhausted. */
    bool (*prepare)(void *mine, void *its, const struct sides *sides);
    /* Takes ownership of the data of `its`, or frees it. An element that is missing on one side is
     * all zero there, and is always `its`. */
    void (*add)(void *mine, const void *its, const struct sides *sides);
};

/* merge_kinds.c, merge_processes.c */
extern const struct merge_kind merge_functions, merge_callsites, merge_matrix, merge_communicators,
    merge_files, merge_regions, merge_processes, merge_window_ranks, merge_flights;

/* merge.c */
void merge_spread(struct profile_spread *mine, const struct profile_spread *its,
                  const struct sides *sides);
void merge_calls(struct profile_calls *mine, const struct profile_calls *its,
                 const struct sides *sides);

/* merge_ranks.c: the lists of an element by rank; those of a side with one rank are its calls. */
struct merge_listed {
    struct profile_by_rank *by_rank;
    const struct profile_calls *calls;
};
bool merge_prepare_ranks(struct profile_by_rank *mine, const struct profile_by_rank *its,
                         const struct sides *sides);
void merge_ranks(struct merge_listed mine, struct merge_listed its, const struct sides *sides);

/* merge_waits.c: what ranks waited at a call site. `its` stays its owner's. */
bool merge_prepare_waits(struct profile_waits *mine, const struct profile_waits *its);
void merge_waits(struct profile_waits *mine, const struct profile_waits *its, bool every_rank);

/* Sorts both arrays and enlarges *mine for all elements. Returns false if memory is exhausted. */
bool merge_prepare(const struct merge_kind *kind, void **mine, size_t count, void *its,
                   size_t its_count, const struct sides *sides);

/* Merges `its` into `mine`, which must be prepared unless `its` is empty. Returns the new count. */
size_t merge_arrays(const struct merge_kind *kind, void *mine, size_t count, const void *its,
                    size_t its_count, const struct sides *sides);

#endif
