/* SPDX-License-Identifier: MIT */
/* See world.h. */
#define _GNU_SOURCE
#include "toolkit/world.h"

#include "util/util.h"

#include <qmpi/qmpi.h>
#include <stdlib.h>
#include <string.h>

bool tool_world_create_comm(int tool_id, MPI_Comm *comm)
{
    if (QMPIX_Tool_create_comm(tool_id, comm) == MPI_SUCCESS)
        return true;
    if (tool_world_is_open() && qmpi_launcher_reports())
        qmpi_printf("layer %d: MPI cannot create a communicator for it, so the processes cannot "
                    "merge their data\n  hint: see that the program frees communicators",
                    tool_id);
    return false;
}

bool tool_world_is_everywhere(int tool_id, bool *is_first)
{
    const int *ranks;
    int count, size = 0, rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    *is_first = rank == 0;
    if (QMPIX_Tool_get_ranks(tool_id, &ranks, &count) != MPI_SUCCESS)
        return true;
    *is_first = rank == ranks[0];
    return PMPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS || count == size;
}

bool tool_world_group(MPI_Session session, MPI_Group *group)
{
#ifdef MPI_SESSION_NULL
    if (session != MPI_SESSION_NULL)
        return PMPI_Group_from_session_pset(session, "mpi://WORLD", group) == MPI_SUCCESS;
#endif
    return session == MPI_SESSION_NULL && PMPI_Comm_group(MPI_COMM_WORLD, group) == MPI_SUCCESS;
}

bool tool_world_is_open(void)
{
    int initialized = 0, finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    return initialized && !finalized;
}

char *tool_world_mpi_version(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    PMPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
    for (char *c = text; *c; c++) {
        if (*c == '\t')
            *c = ' ';
    }
    return strdup(text);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

void tool_world_sessions_make(struct tool_world_sessions *sessions)
{
    *sessions = (struct tool_world_sessions){.made = MPI_COMM_NULL, .private_comm = MPI_COMM_NULL};
    pthread_mutex_init(&sessions->lock, NULL);
}

void tool_world_sessions_retain(int tool_id)
{
    static const enum QMPI_Functions_enum functions[] = {
        MPI_FINALIZE_T,         MPI_SESSION_INIT_T,
        MPI_SESSION_FINALIZE_T, MPI_COMM_CREATE_FROM_GROUP_T,
        MPI_COMM_FREE_T,        MPI_COMM_DISCONNECT_T,
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        QMPIX_Tool_keep_function(tool_id, functions[i]);
}

static void find_world(MPI_Session session, int *size, int *rank)
{
    MPI_Group group;
    if (tool_world_group(session, &group)) {
        PMPI_Group_size(group, size);
        PMPI_Group_rank(group, rank);
        PMPI_Group_free(&group);
    }
}

bool tool_world_sessions_begin(struct tool_world_sessions *sessions, MPI_Session session)
{
    int size = sessions->size, rank = sessions->rank;
    if (!size)
        find_world(session, &size, &rank);
    pthread_mutex_lock(&sessions->lock);
    sessions->size = size;
    sessions->rank = rank;
    sessions->begun = true;
    const bool first = sessions->count == 0;
    /* If memory is exhausted, the end of this session is not used for communication. */
    if (QMPI_MEMORY_RESERVE(sessions->open, sessions->room, (size_t)sessions->count + 1))
        sessions->open[sessions->count++] = session;
    pthread_mutex_unlock(&sessions->lock);
    return first;
}

/* Proposes the session from which a communicator was created. MPI does not show this, so there is a
 * proposal only if exactly one session is open. */
static bool propose_session(struct tool_world_sessions *sessions, MPI_Session *session)
{
    pthread_mutex_lock(&sessions->lock);
    const bool ready = !sessions->chosen && sessions->count == 1;
    *session = ready ? sessions->open[0] : MPI_SESSION_NULL;
    sessions->chosen |= ready;
    pthread_mutex_unlock(&sessions->lock);
    return ready;
}

/* Predefined handlers cannot be freed in all libraries. */
static bool is_predefined(MPI_Errhandler handler)
{
#ifdef MPI_ERRORS_ABORT
    if (handler == MPI_ERRORS_ABORT)
        return true;
#endif
    return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN;
}

/* Calls PMPI_Comm_split for a communicator of the program. If this fails, the error handler of the
 * communicator is not called, because the program has made no such call. */
static bool split_quietly(MPI_Comm comm, int key, MPI_Comm *created)
{
    MPI_Errhandler before;
    if (PMPI_Comm_get_errhandler(comm, &before) != MPI_SUCCESS)
        return false;
    const bool is_set = PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    const bool is_split = is_set && PMPI_Comm_split(comm, 0, key, created) == MPI_SUCCESS;
    if (is_set)
        PMPI_Comm_set_errhandler(comm, before);
    if (!is_predefined(before))
        PMPI_Errhandler_free(&before);
    return is_split;
}

/* Finds out whether all processes of `comm` are ready, and then makes the tool's own communicator.
 * The program has not used `comm` yet, because all processes call this first. */
static bool agree_on_comm(MPI_Comm comm, bool ready, int rank, MPI_Comm *private_comm)
{
    int mine = ready, all = 0;
    /* The ranks are in the order of mpi://WORLD, so that the same process reports after each
     * session, whatever the order in `comm` is. */
    if (!split_quietly(comm, rank, private_comm))
        return false;
    PMPI_Comm_set_errhandler(*private_comm, MPI_ERRORS_RETURN);
    if (PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, *private_comm) == MPI_SUCCESS && all)
        return true;
    PMPI_Comm_free(private_comm);
    return false;
}

void tool_world_sessions_add(struct tool_world_sessions *sessions, MPI_Comm comm)
{
    MPI_Session session;
    MPI_Comm private_comm = MPI_COMM_NULL;
    int size = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_size(comm, &size) != MPI_SUCCESS ||
        size != sessions->size)
        return;
    const bool ready = propose_session(sessions, &session);
    const bool good = agree_on_comm(comm, ready, sessions->rank, &private_comm);
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

void tool_world_sessions_leave(struct tool_world_sessions *sessions, MPI_Comm comm,
                               bool disconnects)
{
    MPI_Comm private_comm = MPI_COMM_NULL;
    pthread_mutex_lock(&sessions->lock);
    if (sessions->private_comm != MPI_COMM_NULL && comm != MPI_COMM_NULL &&
        comm == sessions->made) {
        sessions->made = MPI_COMM_NULL; /* MPI may give the handle to another communicator. */
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

bool tool_world_sessions_end(struct tool_world_sessions *sessions, MPI_Session session,
                             MPI_Comm *comm, bool *last)
{
    const bool is_within_world = tool_world_is_open();
    pthread_mutex_lock(&sessions->lock);
    for (int i = 0; i < sessions->count; i++) {
        if (sessions->open[i] == session)
            sessions->open[i--] = sessions->open[--sessions->count];
    }
    *last = sessions->count == 0 && !is_within_world;
    const bool all = sessions->private_comm != MPI_COMM_NULL && session == sessions->session;
    if (all) {
        *comm = sessions->private_comm;
        sessions->private_comm = MPI_COMM_NULL;
        sessions->made = MPI_COMM_NULL;
        sessions->chosen = false;
    }
    pthread_mutex_unlock(&sessions->lock);
    if (all && is_within_world)
        PMPI_Comm_free(comm);
    return all && !is_within_world;
}

bool tool_world_sessions_outlive_world(struct tool_world_sessions *sessions, MPI_Session *session)
{
    pthread_mutex_lock(&sessions->lock);
    const bool outlives = sessions->private_comm != MPI_COMM_NULL;
    *session = outlives ? sessions->session : MPI_SESSION_NULL;
    pthread_mutex_unlock(&sessions->lock);
    return outlives;
}

bool tool_world_sessions_are_over(struct tool_world_sessions *sessions)
{
    pthread_mutex_lock(&sessions->lock);
    const bool over = sessions->begun && sessions->count == 0;
    pthread_mutex_unlock(&sessions->lock);
    return over && !tool_world_is_open();
}
