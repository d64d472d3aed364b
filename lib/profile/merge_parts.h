/* SPDX-License-Identifier: MIT */
/*
 * What merge.c must know of the things that a result has arrays of, and what they need of it: an
 * order, and how one thing is added to the same one of the other side. To add cannot fail, for
 * merge_prepare has made all the room before anything is changed.
 */
#ifndef QMPI_PROFILE_MERGE_PARTS_H
#define QMPI_PROFILE_MERGE_PARTS_H

#include "profile/result.h"

/* How many ranks each of the two sides is of. */
struct sides {
    int mine, its;
};

struct kind {
    size_t size;
    int (*compare)(const void *mine, const void *its);
    /* Makes the room that `add` needs; NULL: none. False: memory is out. */
    bool (*prepare)(void *mine, void *its);
    /* Takes over what `its` owns, or frees it. One that only one side has meets zeros. */
    void (*add)(void *mine, const void *its, struct sides ranks);
};

/* merge_kinds.c */
extern const struct kind merge_functions, merge_callsites, merge_matrix, merge_communicators,
    merge_files, merge_regions, merge_processes, merge_flights;

/* merge.c */
void merge_spread(struct profile_spread *mine, const struct profile_spread *its,
                  struct sides ranks);
void merge_calls(struct profile_calls *mine, const struct profile_calls *its, struct sides ranks);

/* Brings both arrays into order and makes room in *mine for all, which may move it. False: memory
 * is out. */
bool merge_prepare(const struct kind *kind, void **mine, size_t count, void *its, size_t its_count);

/* Merges `its` into `mine`, where both are prepared, or where there is nothing in `its`. The new
 * count. */
size_t merge_arrays(const struct kind *kind, void *mine, size_t count, const void *its,
                    size_t its_count, struct sides ranks);

#endif
