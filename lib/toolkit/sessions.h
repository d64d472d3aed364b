/* SPDX-License-Identifier: MIT */
/*
 * Determines when a layer can communicate among all processes of a program that uses only MPI
 * Sessions. The end of an arbitrary session is not suitable: a process may open and close a session
 * that the others do not have, and would wait for them for ever. However, the end of a session from
 * which a communicator of all processes was created, and not disconnected, may synchronize all
 * processes (MPI 4.0, MPI_SESSION_FINALIZE). The end of the first such session is used. The
 * processes agree on it when the communicator is created.
 */
#ifndef QMPI_TOOLKIT_SESSIONS_H
#define QMPI_TOOLKIT_SESSIONS_H

#include "toolkit/private_comm.h"

#include <pthread.h>

struct tool_sessions {
    pthread_mutex_t lock;
    bool begun;        /* a session was opened */
    MPI_Session *open; /* sessions */
    int count;
    int size;    /* processes in mpi://WORLD */
    bool chosen; /* the following three are set, or being agreed on */
    MPI_Session session;
    MPI_Comm
        made; /* the communicator of all processes; MPI_COMM_NULL: freed, but not disconnected */
    MPI_Comm private_comm; /* our communicator of the same processes */
};

void tool_sessions_make(struct tool_sessions *sessions);

/* Requests that the layer is called for the functions below and MPI_Finalize also while it is off,
 * because other ranks wait for a rank that is switched off alone. Called from `init`. */
void tool_sessions_retain(int tool_id);

/* Called after MPI_Session_init. Returns true if no other session was open. */
bool tool_sessions_begin(struct tool_sessions *sessions, MPI_Session session);

/* Called after MPI_Comm_create_from_group. Collective over `comm`. */
void tool_sessions_add(struct tool_sessions *sessions, MPI_Comm comm);

/* Called before MPI_Comm_free and MPI_Comm_disconnect. */
void tool_sessions_leave(struct tool_sessions *sessions, MPI_Comm comm, bool disconnects);

/* Called before MPI_Session_finalize. Sets `*last` if no other session is open. Returns true if all
 * processes reach this point; `*comm` then contains all of them, and the caller frees it. */
bool tool_sessions_end(struct tool_sessions *sessions, MPI_Session session, MPI_Comm *comm,
                       bool *last);

/* Whether this process has used only sessions and finalized all of them, so that it needs no
 * MPI_Finalize. Any thread, also at exit. */
bool tool_sessions_are_over(struct tool_sessions *sessions);

#endif
