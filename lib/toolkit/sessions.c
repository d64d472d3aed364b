/* SPDX-License-Identifier: MIT */
/* See sessions.h. */
#include "toolkit/sessions.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>

void tool_sessions_make(struct tool_sessions *sessions)
{
    *sessions = (struct tool_sessions){.made = MPI_COMM_NULL, .private_comm = MPI_COMM_NULL};
    pthread_mutex_init(&sessions->lock, NULL);
}

void tool_sessions_retain(int tool_id)
{
    static const enum QMPI_Functions_enum functions[] = {
        MPI_FINALIZE_T,         MPI_SESSION_INIT_T,
        MPI_SESSION_FINALIZE_T, MPI_COMM_CREATE_FROM_GROUP_T,
        MPI_COMM_FREE_T,        MPI_COMM_DISCONNECT_T,
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        QMPIX_Tool_keep_function(tool_id, functions[i]);
}

static int world_size(MPI_Session session)
{
    MPI_Group group;
    int size = 0;
    if (tool_world_group(session, &group)) {
        PMPI_Group_size(group, &size);
        PMPI_Group_free(&group);
    }
    return size;
}

bool tool_sessions_begin(struct tool_sessions *sessions, MPI_Session session)
{
    const int size = sessions->size ? sessions->size : world_size(session);
    pthread_mutex_lock(&sessions->lock);
    sessions->size = size;
    sessions->begun = true;
    const bool first = sessions->count++ == 0;
    MPI_Session *open = realloc(sessions->open, (size_t)sessions->count * sizeof *open);
    if (open) {
        open[sessions->count - 1] = session;
        sessions->open = open;
    } else {
        sessions->count--; /* its end is not used for communication then */
    }
    pthread_mutex_unlock(&sessions->lock);
    return first;
}

/* Which session a group came from MPI does not tell; where one is open it is that. */
static bool propose(struct tool_sessions *sessions, MPI_Session *session)
{
    int initialized = 0;
    PMPI_Initialized(&initialized); /* then there is MPI_Finalize for it */
    pthread_mutex_lock(&sessions->lock);
    const bool ready = !sessions->chosen && !initialized && sessions->count == 1;
    *session = ready ? sessions->open[0] : MPI_SESSION_NULL;
    sessions->chosen |= ready;
    pthread_mutex_unlock(&sessions->lock);
    return ready;
}

/* Nobody has used `comm` yet: all processes come here first. */
static bool agree(MPI_Comm comm, bool ready, MPI_Comm *private_comm)
{
    int mine = ready, all = 0;
    if (PMPI_Comm_dup(comm, private_comm) != MPI_SUCCESS)
        return false;
    PMPI_Comm_set_errhandler(*private_comm, MPI_ERRORS_RETURN);
    if (PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, *private_comm) == MPI_SUCCESS && all)
        return true;
    PMPI_Comm_free(private_comm);
    return false;
}

void tool_sessions_add(struct tool_sessions *sessions, MPI_Comm comm)
{
    MPI_Session session;
    MPI_Comm private_comm = MPI_COMM_NULL;
    int size = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_size(comm, &size) != MPI_SUCCESS ||
        size != sessions->size)
        return;
    const bool ready = propose(sessions, &session);
    const bool good = agree(comm, ready, &private_comm);
    pthread_mutex_lock(&sessions->lock);
    if (good) {
        sessions->session = session;
        sessions->made = comm;
        sessions->private_comm = private_comm;
    } else if (ready) {
        sessions->chosen = false;
    }
    pthread_mutex_unlock(&sessions->lock);
}

void tool_sessions_leave(struct tool_sessions *sessions, MPI_Comm comm, bool disconnects)
{
    MPI_Comm private_comm = MPI_COMM_NULL;
    pthread_mutex_lock(&sessions->lock);
    if (sessions->private_comm != MPI_COMM_NULL && comm != MPI_COMM_NULL &&
        comm == sessions->made) {
        sessions->made = MPI_COMM_NULL; /* the handle may be another one's then */
        if (disconnects) {
            private_comm = sessions->private_comm;
            sessions->private_comm = MPI_COMM_NULL;
            sessions->chosen = false;
        }
    }
    pthread_mutex_unlock(&sessions->lock);
    if (private_comm != MPI_COMM_NULL)
        PMPI_Comm_free(&private_comm);
}

bool tool_sessions_end(struct tool_sessions *sessions, MPI_Session session, MPI_Comm *comm,
                       bool *last)
{
    pthread_mutex_lock(&sessions->lock);
    for (int i = 0; i < sessions->count; i++) {
        if (sessions->open[i] == session)
            sessions->open[i--] = sessions->open[--sessions->count];
    }
    *last = sessions->count == 0;
    const bool all = sessions->private_comm != MPI_COMM_NULL && session == sessions->session;
    if (all) {
        *comm = sessions->private_comm;
        sessions->private_comm = MPI_COMM_NULL;
        sessions->made = MPI_COMM_NULL;
        sessions->chosen = false;
    }
    pthread_mutex_unlock(&sessions->lock);
    return all;
}

bool tool_sessions_are_over(struct tool_sessions *sessions)
{
    int initialized = 0;
    pthread_mutex_lock(&sessions->lock);
    const bool over = sessions->begun && sessions->count == 0;
    pthread_mutex_unlock(&sessions->lock);
    if (over)
        PMPI_Initialized(&initialized);
    return over && !initialized;
}
