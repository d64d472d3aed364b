/* SPDX-License-Identifier: MIT */
/* The communicators of windows, for MPI_Win_fence. All functions: under the lock of the path. */
#ifndef QMPI_TOOL_PROFILE_PATH_WINDOWS_H
#define QMPI_TOOL_PROFILE_PATH_WINDOWS_H

#include "path/comms.h"

struct path_window {
    MPI_Win window;
    struct path_comm *comm;
    struct path_window *next;
};

struct path_windows {
    struct path_window *first, *unused;
};

/* A window was created on a communicator. */
void path_window_add(struct path_windows *windows, MPI_Win window, struct path_comm *comm);

/* NULL: none that is known. */
struct path_comm *path_window_find(const struct path_windows *windows, MPI_Win window);

/* The window was freed: returns its communicator, which the caller releases; NULL: none. */
struct path_comm *path_window_remove(struct path_windows *windows, MPI_Win window);

#endif
