/* SPDX-License-Identifier: MIT */
/* What this process has noted so far, of all its threads, as a result of one rank. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_SNAPSHOT_H
#define QMPI_TOOL_PROFILE_COLLECT_SNAPSHOT_H

#include "layer.h"
#include "profile/profile.h"

/*
 * Any thread, at any time; makes no MPI call. Calls that end meanwhile may be in some of its
 * figures and not in others. Calls under way are in all of them, and named, unless `termination` is
 * NULL: then MPI ends. The result's `termination` is a copy. `crashed`: the lock is waited for only
 * for a while. To be freed with profile_result_free; NULL: memory is out.
 */
struct profile_result *build_result(struct layer *layer, const char *termination, bool crashed);

#endif
