/* SPDX-License-Identifier: MIT */
/*
 * Merges two results of one run, each of one or several processes. The tool does this at
 * MPI_Finalize, `qmpi report` with files of single processes. If a function, a call site or another
 * element is missing in one of the results, the ranks of that result count as 0.
 */
#ifndef QMPI_PROFILE_MERGE_H
#define QMPI_PROFILE_MERGE_H

#include "tools/profile/result/profile_result.h"

/*
 * Merges `from` into `into`, and frees `from`. The arrays of both may be in any order, but must not
 * contain duplicates; those of `into` are sorted by their keys afterwards (see
 * profile_result_sort). MPI, start, termination and tool_id of `into` do not change; program,
 * command line, batch job, user and environment become those of the lowest rank; `rank` becomes -1.
 * Returns false if memory is exhausted; `into` then still has the figures of its own processes, but
 * the order of its arrays, its lists of ranks and its description of the run may have changed.
 */
bool profile_merge(struct profile_result *into, struct profile_result *from);

/* Reduces a list of ranks to those that made calls, at most PROFILE_OUTLIERS of them. */
void profile_merge_choose_callers(struct profile_by_rank *list);

/* ---- Elements of a result -------------------------------------------------------------------- */

/* The ranks of one of the two results that are merged. */
struct merge_side {
    int ranks;
    const struct profile_process *processes; /* in the order of their ranks */
    size_t process_count;
};

/* The sides whose elements are merged. */
struct merge_sides {
    struct merge_side mine, its;
    bool every_rank; /* see profile_result */
    bool absent;     /* the side `its` lacks the element, so that its ranks count as 0 */
};

/* Adds `its` to `mine`. */
void merge_calls(struct profile_calls *mine, const struct profile_calls *its,
                 const struct merge_sides *sides);

/* Compares two call sites for sorting. Returns 0 if they are the same, even if the place in the
 * source code of only one of them is known. */
int merge_compare_callsites(const void *mine, const void *its);

/* An element on one side, with its lists by rank. If the side has a single rank, `calls` is read
 * instead of the lists. */
struct merge_listed {
    struct profile_by_rank *by_rank, *callers; /* NULL: this side lacks the element */
    const struct profile_calls *calls;
};

/* Allocates the memory that merge_ranks needs in `mine`. Returns false if memory is exhausted. */
bool merge_prepare_ranks(struct merge_listed mine, struct merge_listed its,
                         const struct merge_sides *sides);
void merge_ranks(struct merge_listed mine, struct merge_listed its,
                 const struct merge_sides *sides);

/* The same for the callers alone; by_rank is not used, and may be NULL. */
bool merge_prepare_callers(struct merge_listed mine, struct merge_listed its,
                           const struct merge_sides *sides);
void merge_callers(struct merge_listed mine, struct merge_listed its,
                   const struct merge_sides *sides);

/* The same for the waits of a call site. `its` does not change. If that side lacks the call
 * site, `its` is NULL for merge_prepare_waits and empty for merge_waits. */
bool merge_prepare_waits(struct profile_waits *mine, const struct profile_waits *its);
void merge_waits(struct profile_waits *mine, const struct profile_waits *its, bool every_rank);

/* ---- Files of single processes --------------------------------------------------------------- */

/*
 * Returns whether `other`, the result of a single process, can be merged into `result`, that of one
 * or several processes. Both must belong to the same MPI job or, if this is unknown, to the same
 * program. They must have the same MPI library and layer, and must have started less than a minute
 * apart, as far as their times of starting can be read. `result` must not contain the rank of
 * `other`, and must not be the result of all ranks.
 */
bool profile_merge_fits(const struct profile_result *result, const struct profile_result *other);

/*
 * Merges `other` into `result`, and takes ownership of `other`. The result then describes all
 * merged ranks (rank -1); its start is the earlier one, and its termination lists all different
 * terminations of the processes. A process that did not call a function counts as 0, as in a result
 * of all ranks. Returns false if memory is exhausted; `other` is lost then, and for `result`, see
 * profile_merge.
 */
bool profile_merge_process(struct profile_result *result, struct profile_result *other);

/*
 * A run whose files are added one by one. They are merged in a tree: if the size of a result grows
 * with the number of ranks n, the time grows with n log n.
 */
enum { PROFILE_MERGE_TREE_PARTS = 32 };
struct profile_merge_tree {
    /* The merged results. Each consists of fewer files than the previous one. */
    struct profile_result *parts[PROFILE_MERGE_TREE_PARTS];
    int files[PROFILE_MERGE_TREE_PARTS]; /* the number of files in each part */
    int count;
};

/* Like profile_merge_fits, with all files that were added. At least one file must have been
 * added. */
bool profile_merge_tree_fits(const struct profile_merge_tree *combination,
                             const struct profile_result *other);

/* Adds the first file, or one that fits. Takes ownership. Returns false if memory is exhausted:
 * this file and others may be lost then. */
bool profile_merge_tree_add(struct profile_merge_tree *combination, struct profile_result *other);

/* Merges all files into the first part, which is the result. Returns false if memory is exhausted:
 * files may be lost then. */
bool profile_merge_tree_finish(struct profile_merge_tree *combination);

#endif
