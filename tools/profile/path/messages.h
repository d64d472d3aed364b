/* SPDX-License-Identifier: MIT */
/* The clocks that go with point-to-point messages: one message of 8 bytes for each. */
#ifndef QMPI_TOOL_PROFILE_PATH_MESSAGES_H
#define QMPI_TOOL_PROFILE_PATH_MESSAGES_H

#include "path/state.h"

/* Around a call that sends or receives, or makes a request that MPI_Start starts. */
void path_message_before(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                         const struct path_role *role);
void path_message_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                        const struct path_role *role);

/* Around MPI_Start and MPI_Startall. */
void path_start_before(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                       const struct path_role *role);
void path_start_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                      const struct path_role *role);

/* Before MPI_Request_free, and after MPI_Cancel. */
void path_free_before(struct path *path, struct path_clock *clock, const QMPIX_Call *call,
                      const struct path_role *role);
void path_cancel_after(struct path *path, const QMPIX_Call *call, const struct path_role *role);

#endif
