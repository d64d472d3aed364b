/* SPDX-License-Identifier: MIT */
/*
 * Brings the files together that single processes of one run left: those that ended without
 * MPI_Finalize, or were killed and left a checkpoint.
 */
#ifndef QMPI_PROFILE_COMBINE_H
#define QMPI_PROFILE_COMBINE_H

#include "profile/result.h"

/*
 * Whether `other`, of a single process, belongs into `result`, which is of a single process or
 * joined of some: the same program, MPI library and layer, begun less than a minute apart, and a
 * rank that is not there yet.
 */
bool profile_combine_fits(const struct profile_result *result, const struct profile_result *other);

/*
 * Adds `other` to `result`; `other` is taken over. The result is then of all ranks that were joined
 * (rank -1), its ending names each different one. A process that did not call a function counts
 * with 0, as in a result of all ranks. False: memory is out, `result` is as it was and what was in
 * `other` is lost.
 */
bool profile_combine(struct profile_result *result, struct profile_result *other);

#endif
