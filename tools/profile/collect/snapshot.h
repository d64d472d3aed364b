/* SPDX-License-Identifier: MIT */
/* What this process has noted so far, of all its threads, as a result of one rank. */
#ifndef QMPI_TOOL_PROFILE_COLLECT_SNAPSHOT_H
#define QMPI_TOOL_PROFILE_COLLECT_SNAPSHOT_H

#include "layer.h"
#include "profile/profile.h"

/*
 * Any thread, at any time; makes no MPI call. Calls that end meanwhile may be in some of its
 * figures and not in others. Calls under way are in all of them, and named, but where `ending` is
 * NULL: then MPI ends. `ending` is the result's; `crashed`: locks that are held are passed
 * by. To be freed with profile_result_free; NULL: memory is out.
 */
struct profile_result *build_result(struct layer *layer, const char *termination, bool crashed);

#endif
