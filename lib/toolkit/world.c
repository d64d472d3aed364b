/* SPDX-License-Identifier: MIT */
/* See world.h. */
#define _GNU_SOURCE
#include "toolkit/world.h"

#include "toolkit/run.h"
#include "util/util.h"

#include <qmpi/qmpi.h>
#include <stdlib.h>
#include <string.h>

bool tool_world_create_comm(int tool_id, MPI_Comm *comm)
{
    const int result = QMPIX_Tool_create_comm(tool_id, comm);
    if (result == MPI_SUCCESS)
        return true;
    if (result != MPI_ERR_RANK && tool_world_is_open() && qmpi_launcher_reports())
        qmpi_printf("layer %d: MPI cannot create a communicator for this layer, so the processes "
                    "cannot merge their data\n  hint: make sure that the program frees its "
                    "communicators",
                    tool_id);
    return false;
}

/* ---- Messages of any size -------------------------------------------------------------------- */

enum { DATA_TAG = 1, PART = 1 << 30 };

static int part_size(size_t size, size_t at)
{
    return size - at < PART ? (int)(size - at) : PART;
}

bool tool_world_send(MPI_Comm comm, int rank, const void *bytes, size_t size)
{
    bool good = true;
    for (size_t at = 0; at < size && good; at += PART)
        good = PMPI_Send((const char *)bytes + at, part_size(size, at), MPI_BYTE, rank, DATA_TAG,
                         comm) == MPI_SUCCESS;
    return good;
}

bool tool_world_receive(MPI_Comm comm, int rank, void *bytes, size_t size)
{
    bool good = true;
    for (size_t at = 0; at < size && good; at += PART)
        good = PMPI_Recv((char *)bytes + at, part_size(size, at), MPI_BYTE, rank, DATA_TAG, comm,
                         MPI_STATUS_IGNORE) == MPI_SUCCESS;
    return good;
}

bool tool_world_broadcast(MPI_Comm comm, void *bytes, size_t size)
{
    bool good = true;
    for (size_t at = 0; at < size && good; at += PART)
        good =
            PMPI_Bcast((char *)bytes + at, part_size(size, at), MPI_BYTE, 0, comm) == MPI_SUCCESS;
    return good;
}

/* ---- The processes that have a layer --------------------------------------------------------- */

static bool have_all_layer(int tool_id, int size, int rank, bool *is_first)
{
    const int *ranks;
    int count;
    const bool is_known = QMPIX_Tool_get_ranks(tool_id, &ranks, &count) == MPI_SUCCESS;
    *is_first = rank == (is_known ? ranks[0] : 0);
    return !is_known || count == size;
}

bool tool_world_is_everywhere(int tool_id, bool *is_first)
{
    int size = 0, rank = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return have_all_layer(tool_id, size, rank, is_first);
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

/* Proposes the session from which a communicator was created. MPI does not tell which session that
 * was, so there is a proposal only if exactly one session is open. */
static bool propose_session(struct tool_world_sessions *sessions, MPI_Session *session)
{
    pthread_mutex_lock(&sessions->lock);
    const bool ready = !sessions->chosen && sessions->count == 1;
    *session = ready ? sessions->open[0] : MPI_SESSION_NULL;
    sessions->chosen |= ready;
    pthread_mutex_unlock(&sessions->lock);
    return ready;
}

/* A communicator of all processes that was created from a session. */
struct world_processes {
    int tool_id;
    MPI_Comm comm;
    MPI_Session session; /* any that is open */
    int size;            /* the number of processes */
    int rank;            /* the rank of this process in mpi://WORLD */
};

/* Some libraries reject freeing a predefined handler. */
static bool is_predefined_handler(MPI_Errhandler handler)
{
#ifdef MPI_ERRORS_ABORT
    if (handler == MPI_ERRORS_ABORT)
        return true;
#endif
    return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN;
}

/* Translates `ranks` from the group of all processes to `comm`, which contains the same processes,
 * and sets `*members` to the group of these ranks. */
static bool select_members(MPI_Session session, MPI_Comm comm, const int *ranks, int count,
                           MPI_Group *members)
{
    MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    int *places = calloc((size_t)count, sizeof *places);
    const bool found =
        places && tool_world_group(session, &world) &&
        PMPI_Comm_group(comm, &group) == MPI_SUCCESS &&
        PMPI_Group_translate_ranks(world, count, ranks, group, places) == MPI_SUCCESS &&
        PMPI_Group_incl(group, count, places, members) == MPI_SUCCESS;
    if (group != MPI_GROUP_NULL)
        PMPI_Group_free(&group);
    if (world != MPI_GROUP_NULL)
        PMPI_Group_free(&world);
    free(places);
    return found;
}

/* Creates a communicator of the processes of `comm` that have the layer, in the order of
 * mpi://WORLD, so that the same process reports after each session, whatever the order in `comm`
 * is. Collective over these processes. */
static bool create_comm_of_layer(const struct world_processes *all, MPI_Comm *created)
{
    /* Any tag will do: the program cannot use the communicator yet, because
     * MPI_Comm_create_from_group has not returned to it. */
    enum { TAG = 32767 };
    const int *ranks;
    int count;
    MPI_Group members;
    if (QMPIX_Tool_get_ranks(all->tool_id, &ranks, &count) != MPI_SUCCESS || count == all->size)
        return PMPI_Comm_split(all->comm, 0, all->rank, created) == MPI_SUCCESS;
    if (!select_members(all->session, all->comm, ranks, count, &members))
        return false;
    const bool is_created = PMPI_Comm_create_group(all->comm, members, TAG, created) == MPI_SUCCESS;
    PMPI_Group_free(&members);
    return is_created;
}

/* Calls create_comm_of_layer. If an MPI call fails, the error handler of `all->comm` is not called,
 * because the program has made no such call. */
static bool create_quietly(const struct world_processes *all, MPI_Comm *created)
{
    MPI_Errhandler before;
    if (PMPI_Comm_get_errhandler(all->comm, &before) != MPI_SUCCESS)
        return false;
    const bool is_set = PMPI_Comm_set_errhandler(all->comm, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    const bool is_created = is_set && create_comm_of_layer(all, created);
    if (is_set)
        PMPI_Comm_set_errhandler(all->comm, before);
    if (!is_predefined_handler(before))
        PMPI_Errhandler_free(&before);
    return is_created;
}

/* Makes the tool's own communicator if all processes of `all->comm` that have the layer are ready.
 * Otherwise, or if an MPI call fails, returns false. The program has not used `all->comm` yet,
 * because MPI_Comm_create_from_group has not returned to it. */
static bool agree_on_comm(const struct world_processes *all, bool ready, MPI_Comm *private_comm)
{
    int mine = ready, ours = 0;
    if (!create_quietly(all, private_comm))
        return false;
    PMPI_Comm_set_errhandler(*private_comm, MPI_ERRORS_RETURN);
    if (PMPI_Allreduce(&mine, &ours, 1, MPI_INT, MPI_MIN, *private_comm) == MPI_SUCCESS && ours)
        return true;
    PMPI_Comm_free(private_comm);
    return false;
}

/* Returns some open session, or MPI_SESSION_NULL if none is open. */
static MPI_Session find_session(struct tool_world_sessions *sessions)
{
    pthread_mutex_lock(&sessions->lock);
    const MPI_Session session =
        sessions->count ? sessions->open[sessions->count - 1] : MPI_SESSION_NULL;
    pthread_mutex_unlock(&sessions->lock);
    return session;
}

void tool_world_sessions_add(struct tool_world_sessions *sessions, int tool_id, MPI_Comm comm)
{
    MPI_Session session;
    MPI_Comm private_comm = MPI_COMM_NULL;
    int size = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_size(comm, &size) != MPI_SUCCESS ||
        size != sessions->size)
        return;
    const bool ready = propose_session(sessions, &session);
    const struct world_processes all = {tool_id, comm, ready ? session : find_session(sessions),
                                        size, sessions->rank};
    const bool good = agree_on_comm(&all, ready, &private_comm);
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

bool tool_world_sessions_are_everywhere(const struct tool_world_sessions *sessions, int tool_id,
                                        bool *is_first)
{
    return have_all_layer(tool_id, sessions->size, sessions->rank, is_first);
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

bool tool_world_sessions_are_open(struct tool_world_sessions *sessions, MPI_Session *session)
{
    if (!tool_world_sessions_outlive_world(sessions, session))
        *session = find_session(sessions);
    return *session != MPI_SESSION_NULL;
}

bool tool_world_has_rank(struct tool_world_sessions *sessions)
{
    int initialized = 0;
    if (!tool_run_is_child())
        return true;
    PMPI_Initialized(&initialized);
    pthread_mutex_lock(&sessions->lock);
    const bool begun = sessions->begun;
    pthread_mutex_unlock(&sessions->lock);
    return begun || initialized;
}

bool tool_world_sessions_are_over(struct tool_world_sessions *sessions)
{
    pthread_mutex_lock(&sessions->lock);
    const bool over = sessions->begun && sessions->count == 0;
    pthread_mutex_unlock(&sessions->lock);
    return over && !tool_world_is_open();
}
