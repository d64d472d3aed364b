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

#endif
