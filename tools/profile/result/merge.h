/* SPDX-License-Identifier: MIT */
/*
 * Merges two results of one run, each of one or several processes. The tool merges the results of
 * all ranks at MPI_Finalize, and `qmpi report` merges files of single processes. If a function, a
 * call site or another element is missing in one of the results, the ranks of that result count
 * as 0 in the merged element.
 */
#ifndef QMPI_PROFILE_MERGE_H
#define QMPI_PROFILE_MERGE_H

#include "tools/profile/result/profile_result.h"

/*
 * Merges `from` into `into`, and frees `from`. The arrays of both may be in any order, but must not
 * contain duplicates; those of `into` are sorted by their keys afterwards (see
 * profile_result_sort). The members `mpi`, `begin`, `job`, `termination` and `tool_id` of `into` do
 * not change. Program, command line, batch job, user and environment become those of the lowest
 * rank, and `rank` becomes -1. `every_rank` is set afterwards if both results have it, or if `from`
 * has it and `into` has no ranks yet.
 * Returns false if memory is exhausted; `into` then still has the figures of its own processes, but
 * the order of its arrays, its lists of ranks and its description of the run may have changed.
 */
bool profile_merge(struct profile_result *into, struct profile_result *from);

/* Reduces a list of ranks to those that made calls. If there are more than PROFILE_OUTLIERS,
 * keeps PROFILE_OUTLIERS of them: half are those with the least time, half those with the most. */
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
 * instead of the lists. Both lists are NULL if the side lacks the element, and `by_rank` also if
 * only the callers are merged. */
struct merge_listed {
    struct profile_by_rank *by_rank, *callers;
    const struct profile_calls *calls;
};

/* merge_ranks merges the lists of `its` into those of `mine`. Before this, merge_prepare_ranks must
 * have allocated the memory in `mine`. merge_prepare_ranks returns false if memory is exhausted. */
bool merge_prepare_ranks(struct merge_listed mine, struct merge_listed its,
                         const struct merge_sides *sides);
void merge_ranks(struct merge_listed mine, struct merge_listed its,
                 const struct merge_sides *sides);

/* These do the same for the callers alone. `by_rank` is not used. */
bool merge_prepare_callers(struct merge_listed mine, struct merge_listed its,
                           const struct merge_sides *sides);
void merge_callers(struct merge_listed mine, struct merge_listed its,
                   const struct merge_sides *sides);

/* These do the same for the waits of a call site. `its` does not change. If its side lacks the call
 * site, `its` is NULL for merge_prepare_waits and has no waits for merge_waits. Without
 * `every_rank`, merge_waits shortens the combined list to PROFILE_WAITS_MOST waits. */
bool merge_prepare_waits(struct profile_waits *mine, const struct profile_waits *its);
void merge_waits(struct profile_waits *mine, const struct profile_waits *its, bool every_rank);

/* ---- Files of single processes --------------------------------------------------------------- */

/*
 * Returns whether `other`, the result of a single process, can be merged into `result`, that of one
 * or several processes. Both must belong to the same MPI job or, if the job of one is unknown, have
 * the same program. They must have the same MPI library and layer, and must have started less than
 * a minute apart, as far as their times of starting can be read. `result` must not contain the rank
 * of `other`, and must not be the result of all ranks.
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
 * A run whose files are added one by one. They are merged in a tree. Therefore, the time for n
 * files grows only as n log n, even if the size of a merged result grows with the number of its
 * ranks.
 */
enum { PROFILE_MERGE_TREE_PARTS = 32 };
struct profile_merge_tree {
    /* The merged results. Each consists of fewer files than the previous one. */
    struct profile_result *parts[PROFILE_MERGE_TREE_PARTS];
    int files[PROFILE_MERGE_TREE_PARTS]; /* the number of files in each part */
    int count;
};

/* Returns whether `other` fits all files that were added: see profile_merge_fits. At least one file
 * must have been added. */
bool profile_merge_tree_fits(const struct profile_merge_tree *combination,
                             const struct profile_result *other);

/* Adds the first file, or one that fits. Takes ownership of `other`. Returns false if memory is
 * exhausted: this file and others may be lost then. */
bool profile_merge_tree_add(struct profile_merge_tree *combination, struct profile_result *other);

/* Merges all files into the first part, which is the result. Returns false if memory is exhausted:
 * files may be lost then. */
bool profile_merge_tree_finish(struct profile_merge_tree *combination);

#endif
