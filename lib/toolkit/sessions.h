/* SPDX-License-Identifier: MIT */
/*
 * Where a program with MPI Sessions alone lets a layer bring all processes together. It cannot when
 * just any session ends: a process may open and close one that the others know nothing of, and
 * would wait for them for ever. But the end of a session from which a communicator of all processes
 * was made, and not disconnected, may synchronise all of them (MPI 4.0, MPI_SESSION_FINALIZE): that
 * of the first one is the moment. The processes agree on it when that communicator is made.
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
    bool chosen; /* the following three are there, or being agreed on */
    MPI_Session session;
    MPI_Comm made;         /* the communicator of all; MPI_COMM_NULL: freed, but not disconnected */
    MPI_Comm private_comm; /* of the same processes; ours */
};

void tool_sessions_make(struct tool_sessions *sessions);

/* Has the layer called for the functions below and MPI_Finalize also while it is off: from a rank
 * that is switched alone, too, the others expect its part. From `init`. */
void tool_sessions_retain(int tool_id);

/* MPI_Session_init succeeded. True: no other one was open. */
bool tool_sessions_begin(struct tool_sessions *sessions, MPI_Session session);

/* MPI_Comm_create_from_group gave `comm`. Collective over it. */
void tool_sessions_add(struct tool_sessions *sessions, MPI_Comm comm);

/* MPI_Comm_free or MPI_Comm_disconnect is about to be carried out. */
void tool_sessions_leave(struct tool_sessions *sessions, MPI_Comm comm, bool disconnects);

/* MPI_Session_finalize is about to be carried out; `*last`: no other session is open. True: all
 * processes come here, and `*comm` is of all of them; the caller frees it. */
bool tool_sessions_end(struct tool_sessions *sessions, MPI_Session session, MPI_Comm *comm,
                       bool *last);

/* Whether this process has used sessions alone and finalized each: it needs no MPI_Finalize. Any
 * thread, at the exit too. */
bool tool_sessions_are_over(struct tool_sessions *sessions);

#endif
