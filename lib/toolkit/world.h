/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes with which a layer can communicate, makes a communicator for them, and
 * determines when they can communicate if the program uses sessions. These functions call PMPI, so
 * that no layer sees the communication and no attribute callbacks of the application run. For MPI
 * libraries without sessions, this header declares the type MPI_Session, of which MPI_SESSION_NULL
 * is then the only value.
 */
#ifndef QMPI_TOOLKIT_WORLD_H
#define QMPI_TOOLKIT_WORLD_H

#include <pthread.h>
#include <qmpi/qmpi.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef MPI_SESSION_NULL
typedef struct tool_no_session *MPI_Session;
/* This is no macro, because #ifdef MPI_SESSION_NULL must show whether MPI has sessions. */
static const MPI_Session MPI_SESSION_NULL = NULL;
#endif

/* Creates a communicator of all processes of MPI_COMM_WORLD that have the layer, which must all
 * call this. The caller frees the communicator. Returns false if one of them has terminated, or if
 * an MPI call fails. A message says so. */
bool tool_world_create_comm(int tool_id, MPI_Comm *comm);

/* Returns false if some process of MPI_COMM_WORLD is known not to have the layer. The layer must
 * then not communicate on communicators of the program. Sets `*is_first` to whether this process
 * has the lowest rank among those that have the layer. This must be called after MPI_Init. */
bool tool_world_is_everywhere(int tool_id, bool *is_first);

/* Send and receive any number of bytes. Several messages are used if necessary, because the count
 * of a message is an int. Return false if an MPI call fails. `comm` belongs to the layer.
 * tool_world_broadcast copies the bytes of rank 0 to all ranks. */
bool tool_world_send(MPI_Comm comm, int rank, const void *bytes, size_t size);
bool tool_world_receive(MPI_Comm comm, int rank, void *bytes, size_t size);
bool tool_world_broadcast(MPI_Comm comm, void *bytes, size_t size);

/* Stores the group of all processes, which is that of mpi://WORLD in a session, or that of
 * MPI_COMM_WORLD if `session` is MPI_SESSION_NULL. The caller frees the group. Returns false if the
 * MPI call fails. */
bool tool_world_group(MPI_Session session, MPI_Group *group);

/* Returns whether MPI_Init has been called and MPI_Finalize has not completed. */
bool tool_world_is_open(void);

/* Returns the first line of the text of MPI_Get_library_version, because some MPI libraries return
 * a page of text. Tabs are replaced with blanks. The caller frees the text. Returns NULL if memory
 * is exhausted. */
char *tool_world_mpi_version(void);

/* ---- Sessions -------------------------------------------------------------------------------- */

/*
 * Determines when a layer can communicate among all processes of a program that uses MPI
 * Sessions. The end of an arbitrary session is not suitable, because a process may open and close a
 * session that the others do not have, and would wait for them for ever. However, the end of a
 * session from which a communicator of all processes was created, and not disconnected, may
 * synchronize all processes (MPI 4.0, MPI_SESSION_FINALIZE). The end of the first such session is
 * used. The processes agree on it when the communicator is created.
 *
 * If the program also calls MPI_Init, MPI_Finalize is used, and then the end of that session if it
 * comes later. Both may synchronize all processes, so their order is the same on all of them.
 */

struct tool_world_sessions {
    pthread_mutex_t lock;
    bool begun;        /* The process has opened a session. */
    MPI_Session *open; /* These are the open sessions. */
    int count;         /* This is the number of open sessions. */
    size_t room;       /* This is the number of sessions for which `open` has room. */
    int size;          /* This is the number of processes in mpi://WORLD. */
    int rank;          /* This is the rank of this process in mpi://WORLD. */
    bool chosen;       /* The following three members are set, or are being agreed on. */
    MPI_Session session;
    MPI_Comm made; /* The program's communicator of all processes, or MPI_COMM_NULL if the program
                      has freed it. */
    MPI_Comm private_comm; /* This is the tool's own communicator of those of these processes that
                              have the layer. */
};

void tool_world_sessions_make(struct tool_world_sessions *sessions);

/* Requests that the layer is called for MPI_Finalize and for the MPI functions that the following
 * comments name, even while it is off. Otherwise, the other ranks would wait for a rank on which
 * the layer is off. Called from `init`. */
void tool_world_sessions_retain(int tool_id);

/* Called after MPI_Session_init. Returns true if no other session was open. */
bool tool_world_sessions_begin(struct tool_world_sessions *sessions, MPI_Session session);

/* Called after MPI_Comm_create_from_group. If `comm` contains as many processes as mpi://WORLD,
 * this is collective over those that have the layer, and makes `private_comm` unless one of them
 * has no suitable session. Otherwise, this does nothing. */
void tool_world_sessions_add(struct tool_world_sessions *sessions, int tool_id, MPI_Comm comm);

/* Like tool_world_is_everywhere, but for the processes in mpi://WORLD. Called after
 * tool_world_sessions_add. */
bool tool_world_sessions_are_everywhere(const struct tool_world_sessions *sessions, int tool_id,
                                        bool *is_first);

/* Called before MPI_Comm_free and MPI_Comm_disconnect. `disconnects` tells whether it is the
 * latter. */
void tool_world_sessions_leave(struct tool_world_sessions *sessions, MPI_Comm comm,
                               bool disconnects);

/* Called before MPI_Session_finalize. Sets `*last` to whether MPI ends with this session, because
 * no other session is open and the world is not open either. Returns true if all processes reach
 * this point and MPI_Finalize does not follow. `*comm` then contains all processes that have the
 * layer, and the caller frees it. */
bool tool_world_sessions_end(struct tool_world_sessions *sessions, MPI_Session session,
                             MPI_Comm *comm, bool *last);

/* Called before MPI_Finalize. Returns true if all processes will reach the end of `*session` later,
 * so that the program may make more calls until then. */
bool tool_world_sessions_outlive_world(struct tool_world_sessions *sessions, MPI_Session *session);

/* Returns whether a session is open, so that the program may make more calls after MPI_Finalize.
 * `*session` is then one of them: if possible, the one that tool_world_sessions_outlive_world
 * stores. */
bool tool_world_sessions_are_open(struct tool_world_sessions *sessions, MPI_Session *session);

/* Returns false if this process has not initialized MPI or a session, and was started by a rank
 * (tool_run_is_child), so that the rank that the launcher tells is not its own. Any thread may call
 * this, also at exit. */
bool tool_world_has_rank(struct tool_world_sessions *sessions);

/* Returns whether this process has used sessions and has finalized all of them and the world, so
 * that it need not call MPI_Finalize. Any thread may call this, also at exit. */
bool tool_world_sessions_are_over(struct tool_world_sessions *sessions);

#endif
