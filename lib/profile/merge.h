/* SPDX-License-Identifier: MIT */
/*
 * Merges two results of one run, each of one or several processes. The tool does this at
 * MPI_Finalize, `qmpi report` (combine.h) with files of single processes. If a function, call site,
 * … is missing in one of the results, its ranks count as 0.
 */
#ifndef QMPI_PROFILE_MERGE_H
#define QMPI_PROFILE_MERGE_H

#include "profile/result.h"

/*
 * Merges `from` into `into`, and frees `from`. The arrays of both may be in any order, but must not
 * contain duplicates; those of `into` are sorted by their keys afterwards (see
 * profile_result_sort). Program, MPI, start, termination and tool_id of `into` do not change;
 * `rank` becomes -1. Returns false if memory is exhausted; `into` is unchanged then, except for the
 * order of its arrays.
 */
bool profile_merge(struct profile_result *into, struct profile_result *from);

#endif
