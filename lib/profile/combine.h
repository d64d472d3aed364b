/* SPDX-License-Identifier: MIT */
/*
 * Merges the files of single processes of one run: processes that ended without MPI_Finalize, or
 * were killed and left a checkpoint.
 */
#ifndef QMPI_PROFILE_COMBINE_H
#define QMPI_PROFILE_COMBINE_H

#include "profile/result.h"

/*
 * Whether `other`, of a single process, can be merged into `result`, of one or several processes:
 * the same program, MPI library and layer, started less than a minute apart, and a rank that
 * `result` does not contain.
 */
bool profile_combine_fits(const struct profile_result *result, const struct profile_result *other);

/*
 * Merges `other` into `result`, and takes ownership of `other`. The result then describes all
 * merged ranks (rank -1), and its termination lists all different ones. A process that did not call
 * a function counts as 0, as in a result of all ranks. Returns false if memory is exhausted;
 * `result` is unchanged then, and `other` is lost.
 */
bool profile_combine(struct profile_result *result, struct profile_result *other);

/*
 * A run of which the files come one after the other. They are merged in a tree, so that the time
 * grows with n log n where a result grows with the number of ranks.
 */
enum { PROFILE_COMBINATION_PARTS = 32 };
struct profile_combination {
    struct profile_result *parts[PROFILE_COMBINATION_PARTS]; /* of fewer and fewer files */
    int files[PROFILE_COMBINATION_PARTS];                    /* of each part */
    int count;
};

/* Like profile_combine_fits, with all files that were added. */
bool profile_combination_fits(const struct profile_combination *combination,
                              const struct profile_result *other);

/* Adds the first file, or one that fits. Takes ownership. Returns false if memory is exhausted:
 * this file and others may be lost then. */
bool profile_combination_add(struct profile_combination *combination, struct profile_result *other);

/* Merges all files into the first part, which is the result. Returns false as above. */
bool profile_combination_finish(struct profile_combination *combination);

#endif
