/* SPDX-License-Identifier: MIT */
/* How long the longest chain of work is that leads to this moment of the process. */
#ifndef QMPI_TOOL_PROFILE_PATH_NOW_H
#define QMPI_TOOL_PROFILE_PATH_NOW_H

#include "path/state.h"

/* In units of the clocks; 0 with path=no. Any thread, also in a signal handler. */
static inline uint64_t path_now(const struct layer *layer)
{
    const bool works = !(atomic_load(&layer->regions.now) & (CALL_APART | CALL_OFF));
    return layer->path ? path_clocks_now(&layer->path->clocks, works) : 0;
}

#endif
