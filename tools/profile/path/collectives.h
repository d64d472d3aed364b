/* SPDX-License-Identifier: MIT */
/* Brings clocks together as a collective brings its data: one small collective on the shadow, after
 * that of the program. */
#ifndef QMPI_TOOL_PROFILE_PATH_COLLECTIVES_H
#define QMPI_TOOL_PROFILE_PATH_COLLECTIVES_H

#include "path/state.h"

/* Around a collective; also around those that create communicators or windows. */
void path_collective_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                           const struct path_role *role);
void path_create_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                       const struct path_role *role, MPI_Group world);
void path_copy_after(struct path *path, const struct path_clock *clock, const QMPIX_Call *call,
                     const struct path_role *role);
void path_window_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                       const struct path_role *role);
/* MPI_Win_free, of which the handle is known before only. */
void path_window_before(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                        const struct path_role *role);

/* MPI_Init: the shadow of MPI_COMM_WORLD; and a new communicator's. Collective. */
void path_collective_follow(struct path *path, MPI_Comm comm, MPI_Group world);

/* A nonblocking or persistent collective starts, with the clock of now. */
void path_collective_start(struct path_request *request, uint64_t value);

/* It has completed. Returns the clock that came; 0: none. */
uint64_t path_collective_finish(struct path_request *request);

#endif
