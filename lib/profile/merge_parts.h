/* SPDX-License-Identifier: MIT */
/*
 * The interface between merge.c and the kinds of array elements in a result: their order, and how
 * an element is added to the same one of the other side. Adding cannot fail, because merge_prepare
 * allocates all memory before anything is changed.
 */
#ifndef QMPI_PROFILE_MERGE_PARTS_H
#define QMPI_PROFILE_MERGE_PARTS_H

#include "profile/result.h"

/* The number of ranks of each side. */
struct sides {
    int mine, its;
};

struct merge_kind {
    size_t size;
    int (*compare)(const void *mine, const void *its);
    /* Allocates the memory that `add` needs; NULL: none. Returns false if memory is exhausted. */
    bool (*prepare)(void *mine, void *its);
    /* Takes ownership of the data of `its`, or frees it. An element that is missing on one side is
     * all zero there. */
    void (*add)(void *mine, const void *its, struct sides ranks);
};

/* merge_kinds.c */
extern const struct merge_kind merge_functions, merge_callsites, merge_matrix, merge_communicators,
    merge_files, merge_regions, merge_processes, merge_flights;

/* merge.c */
void merge_spread(struct profile_spread *mine, const struct profile_spread *its,
                  struct sides ranks);
void merge_calls(struct profile_calls *mine, const struct profile_calls *its, struct sides ranks);

/* Sorts both arrays and enlarges *mine for all elements. Returns false if memory is exhausted. */
bool merge_prepare(const struct merge_kind *kind, void **mine, size_t count, void *its,
                   size_t its_count);

/* Merges `its` into `mine`, which must be prepared unless `its` is empty. Returns the new count. */
size_t merge_arrays(const struct merge_kind *kind, void *mine, size_t count, const void *its,
                    size_t its_count, struct sides ranks);

#endif
