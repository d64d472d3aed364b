/* SPDX-License-Identifier: MIT */
/* Requests that a call has completed. */
#ifndef QMPI_TOOL_PROFILE_PATH_COMPLETIONS_H
#define QMPI_TOOL_PROFILE_PATH_COMPLETIONS_H

#include "path/state.h"

/* After MPI_Wait and similar functions. */
void path_complete_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call);

#endif
