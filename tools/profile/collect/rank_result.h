/* SPDX-License-Identifier: MIT */
/* The result of one rank: the figures of all threads of this process. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_RANK_RESULT_H
#define QMPI_TOOL_PROFILE_COLLECT_RANK_RESULT_H

#include "tools/profile/layer.h"
#include "tools/profile/result/profile.h"

/*
 * Makes the result. Any thread may call this at any time; it makes no MPI call. Calls that end
 * meanwhile may be in some of the figures and not in others. The result gets a copy of
 * `termination` (see struct profile_result), which is NULL when MPI ends. Unless it is NULL, calls
 * in progress are listed, and are counted with their time so far. If `crashed`, the function waits
 * only a short time for the layer's lock (see layer_lock). The caller frees the result with
 * profile_result_free. Returns NULL if memory is exhausted.
 */
struct profile_result *rank_result_make(struct layer *layer, const char *termination, bool crashed);

/* Records the peak memory and the use of processors before the process is forked, because the
 * child, which makes the result, does not know them. Safe in a signal handler. */
void rank_result_prepare_fork(void);

#endif
