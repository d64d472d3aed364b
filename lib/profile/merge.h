/* SPDX-License-Identifier: MIT */
/*
 * Two results of one run as one: of different processes, each of them of one or of many. The tool
 * does so at MPI_Finalize, rank after rank; `qmpi report` (combine.h) with the files that single
 * processes left. Where a function, call site, … is missing in one of them its ranks count as 0.
 */
#ifndef QMPI_PROFILE_MERGE_H
#define QMPI_PROFILE_MERGE_H

#include "profile/result.h"

/*
 * Adds `from` to `into`; `from` is freed. The arrays of both may be in any order, but hold nothing
 * twice; those of `into` end in the order of their keys: see profile_result_sort. Program, MPI,
 * begin, ending and tool_id stay those of `into`; `rank` becomes -1. False: memory is out; `into`
 * is as it was, but for the order of its arrays.
 */
bool profile_merge(struct profile_result *into, struct profile_result *from);

#endif
