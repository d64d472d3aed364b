/* SPDX-License-Identifier: MIT */
/* What each MPI function means to the logical clocks. */
#ifndef QMPI_TOOL_PROFILE_PATH_ROLES_H
#define QMPI_TOOL_PROFILE_PATH_ROLES_H

#include <qmpi/observer.h>

#include <stdbool.h>

enum path_event {
    PATH_NOTHING,
    PATH_BEGINS_MPI,
    PATH_ENDS_MPI,
    PATH_MESSAGE,   /* a send, a receive, or both */
    PATH_STARTS,    /* MPI_Start, MPI_Startall */
    PATH_COMPLETES, /* MPI_Wait and similar functions */
    PATH_CANCELS,
    PATH_FREES_REQUEST,
    PATH_COLLECTIVE,
    PATH_CREATES, /* a communicator; collective over `comm`, if it has a direction */
    PATH_COPIES,  /* MPI_Comm_idup */
    PATH_FREES_COMM,
    PATH_CREATES_WINDOW, /* collective over `comm` */
    PATH_FENCE,
    PATH_FREES_WINDOW
};

/* Who learns whose clock in a collective. */
enum path_direction {
    PATH_TO_NOBODY,
    PATH_TO_ALL,
    PATH_FROM_ROOT,
    PATH_TO_ROOT,
    PATH_SCAN,
    PATH_EXSCAN,
    PATH_TO_NEIGHBORS
};

/* The arguments are -1 where the function has none. */
struct path_role {
    unsigned char event, direction;
    bool is_persistent; /* MPI_Start starts it */
    signed char dest, send_tag, source, receive_tag, comm, root, request, flag, status, created,
        window, assertion;
};

extern struct path_role path_roles[MPI_LAST_FUNC] __attribute__((visibility("hidden")));

/* Finds them; again: does nothing. In `init`. */
void path_roles_find(void);

#endif
