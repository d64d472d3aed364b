/* SPDX-License-Identifier: MIT */
/* See comms.h. */
#include "observe/comms.h"

#include "dispatch/dispatch.h"
#include "observe/attributes.h"
#include "observe/handles.h"
#include "observe/record.h"
#include "observe/semantics.h"
#include "util/util.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Stores the group of all processes. If the program uses only sessions, a session is opened for
 * this. */
static bool world_group(MPI_Group *group)
{
    int initialized = 0, finalized = 0;
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    if (initialized && !finalized)
        return QMPI_PMPI(Comm_group, COMM_GROUP)(MPI_COMM_WORLD, group) == MPI_SUCCESS;
#ifdef MPI_SESSION_NULL
    MPI_Session session;
    if (QMPI_PMPI(Session_init, SESSION_INIT)(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) !=
        MPI_SUCCESS)
        return false;
    const int result =
        QMPI_PMPI(Group_from_session_pset, GROUP_FROM_SESSION_PSET)(session, "mpi://WORLD", group);
    QMPI_PMPI(Session_finalize, SESSION_FINALIZE)(&session);
    return result == MPI_SUCCESS;
#else
    return false;
#endif
}

bool qmpi_comm_translate_ranks(MPI_Group group, int count, const int *ranks, int *world)
{
    MPI_Group all;
    if (!world_group(&all))
        return false;
    const int result =
        QMPI_PMPI(Group_translate_ranks, GROUP_TRANSLATE_RANKS)(group, count, ranks, all, world);
    QMPI_PMPI(Group_free, GROUP_FREE)(&all);
    return result == MPI_SUCCESS;
}

bool qmpi_comm_can_be_asked(MPI_Comm comm)
{
    int initialized = 0, finalized = 0;
    if (comm == MPI_COMM_NULL)
        return false;
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    return !finalized && (initialized || (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF));
}

/* ---- Processes of communicators and windows -------------------------------------------------- */

QMPI_LOCK(processes_lock);

/* Incremented before a record is freed. It begins at 1, because last_query.generation is 0 in a
 * thread that has made no query. A thread compares it with an earlier value to find out whether the
 * record of its last query may have been freed. A thread that uses a new communicator with the same
 * handle has received it from MPI after the old one was freed, so it finds the new number. */
static unsigned generation = 1;

/* The result of the last query of this thread. A signal handler that finds `changing` set has
 * interrupted a change of the other members, and neither reads nor changes them. */
static _Thread_local struct {
    volatile sig_atomic_t changing;
    MPI_Comm comm;
    unsigned generation;
    const struct qmpi_comm_processes *processes;
} last_query;

static void drop_processes(void *value)
{
    struct qmpi_comm_processes *processes = value;
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    free(processes->world);
    free(processes->sources);
    free(processes->destinations);
    free(processes);
}

static struct qmpi_attribute of_comm = QMPI_ATTRIBUTE(drop_processes),
                             of_window = QMPI_ATTRIBUTE(drop_processes);

/* ---- Ranks in the world ---------------------------------------------------------------------- */

static void translate_peers(struct qmpi_comm_processes *processes, MPI_Group group)
{
    int *ranks = calloc((size_t)processes->peers + 1, sizeof *ranks);
    processes->world = calloc((size_t)processes->peers + 1, sizeof *processes->world);
    for (int i = 0; i < processes->peers; i++) {
        if (ranks)
            ranks[i] = i;
        if (processes->world)
            processes->world[i] = MPI_UNDEFINED;
    }
    if (ranks && processes->world)
        qmpi_comm_translate_ranks(group, processes->peers, ranks, processes->world);
    free(ranks);
}

/* ---- Neighbours: MPI 4.0, section 8.6, "Neighborhood Collective Communication" --------------- */

static bool make_neighbours(struct qmpi_comm_processes *processes, int in, int out)
{
    processes->sources = calloc((size_t)in + 1, sizeof *processes->sources);
    processes->destinations = calloc((size_t)out + 1, sizeof *processes->destinations);
    if (!processes->sources || !processes->destinations)
        return false;
    processes->in = in;
    processes->out = out;
    return true;
}

/* Lists the neighbors in a grid: for each dimension, the one before and the one after. */
static void find_grid_neighbours(MPI_Comm comm, struct qmpi_comm_processes *processes)
{
    int dimensions = 0;
    QMPI_PMPI(Cartdim_get, CARTDIM_GET)(comm, &dimensions);
    if (!make_neighbours(processes, 2 * dimensions, 2 * dimensions))
        return;
    for (int i = 0; i < dimensions; i++) {
        int before = MPI_PROC_NULL, after = MPI_PROC_NULL;
        QMPI_PMPI(Cart_shift, CART_SHIFT)(comm, i, 1, &before, &after);
        processes->sources[2 * i] = processes->destinations[2 * i] = before;
        processes->sources[2 * i + 1] = processes->destinations[2 * i + 1] = after;
    }
}

static void find_graph_neighbours(MPI_Comm comm, struct qmpi_comm_processes *processes)
{
    int count = 0;
    QMPI_PMPI(Graph_neighbors_count, GRAPH_NEIGHBORS_COUNT)(comm, processes->rank, &count);
    if (!make_neighbours(processes, count, count))
        return;
    QMPI_PMPI(Graph_neighbors, GRAPH_NEIGHBORS)
    (comm, processes->rank, count, processes->sources);
    for (int i = 0; i < count; i++)
        processes->destinations[i] = processes->sources[i];
}

static void find_distributed_neighbours(MPI_Comm comm, struct qmpi_comm_processes *processes)
{
    int in = 0, out = 0, weighted = 0;
    QMPI_PMPI(Dist_graph_neighbors_count, DIST_GRAPH_NEIGHBORS_COUNT)(comm, &in, &out, &weighted);
    int *weights = calloc((size_t)in + (size_t)out + 1, sizeof *weights);
    if (weights && make_neighbours(processes, in, out))
        QMPI_PMPI(Dist_graph_neighbors, DIST_GRAPH_NEIGHBORS)
    (comm, in, processes->sources, weights, out, processes->destinations, weights + in);
    free(weights);
}

/* Sets in, out, sources and destinations; in and out are -1 without a topology. */
static void find_topology(MPI_Comm comm, struct qmpi_comm_processes *processes)
{
    int topology = MPI_UNDEFINED;
    processes->in = processes->out = -1;
    if (processes->is_inter)
        return;
    QMPI_PMPI(Topo_test, TOPO_TEST)(comm, &topology);
    if (topology == MPI_CART)
        find_grid_neighbours(comm, processes);
    else if (topology == MPI_GRAPH)
        find_graph_neighbours(comm, processes);
    else if (topology == MPI_DIST_GRAPH)
        find_distributed_neighbours(comm, processes);
}

/* ---- All data of a communicator -------------------------------------------------------------- */

static struct qmpi_comm_processes *find_comm(MPI_Comm comm)
{
    struct qmpi_comm_processes *processes = calloc(1, sizeof *processes);
    MPI_Group group;
    int inter = 0;
    if (!processes || QMPI_PMPI(Comm_test_inter, COMM_TEST_INTER)(comm, &inter) != MPI_SUCCESS ||
        (inter ? QMPI_PMPI(Comm_remote_group, COMM_REMOTE_GROUP)(comm, &group)
               : QMPI_PMPI(Comm_group, COMM_GROUP)(comm, &group)) != MPI_SUCCESS) {
        free(processes);
        return NULL;
    }
    processes->is_inter = inter;
    QMPI_PMPI(Comm_rank, COMM_RANK)(comm, &processes->rank);
    QMPI_PMPI(Comm_size, COMM_SIZE)(comm, &processes->local);
    QMPI_PMPI(Group_size, GROUP_SIZE)(group, &processes->peers);
    translate_peers(processes, group);
    QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    find_topology(comm, processes);
    return processes;
}

static struct qmpi_comm_processes *find_window(MPI_Win window)
{
    struct qmpi_comm_processes *processes = calloc(1, sizeof *processes);
    MPI_Group group;
    if (!processes || QMPI_PMPI(Win_get_group, WIN_GET_GROUP)(window, &group) != MPI_SUCCESS) {
        free(processes);
        return NULL;
    }
    QMPI_PMPI(Group_size, GROUP_SIZE)(group, &processes->peers);
    QMPI_PMPI(Group_rank, GROUP_RANK)(group, &processes->rank);
    processes->local = processes->peers;
    processes->in = processes->out = -1;
    translate_peers(processes, group);
    QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    return processes;
}

/* ---- Stored with the handle ------------------------------------------------------------------ */

static const struct qmpi_comm_processes *comm_processes(MPI_Comm comm, bool is_checked)
{
    struct qmpi_comm_processes *processes = qmpi_attribute_of_comm(&of_comm, comm);
    if (processes)
        return processes;
    if (!is_checked && !qmpi_handle_is_comm(comm))
        return NULL;
    pthread_mutex_lock(&processes_lock);
    processes = qmpi_attribute_of_comm(&of_comm, comm);
    if (!processes && (processes = find_comm(comm)) &&
        !qmpi_attribute_set_comm(&of_comm, comm, processes))
        processes = NULL;
    pthread_mutex_unlock(&processes_lock);
    /* Also stores a record with MPI_COMM_SELF: MPI_Finalize deletes the attributes of
     * MPI_COMM_SELF, and drop_processes then makes the last query of each thread invalid. The
     * record of MPI_COMM_WORLD does not suffice, because Open MPI 5 does not delete its attributes.
     */
    if (comm == MPI_COMM_WORLD)
        comm_processes(MPI_COMM_SELF, true);
    return processes;
}

const struct qmpi_comm_processes *qmpi_comm_processes_of(MPI_Comm comm, bool is_checked)
{
    const unsigned now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
    if (!last_query.changing && last_query.generation == now && last_query.comm == comm)
        return last_query.processes;
    const struct qmpi_comm_processes *processes =
        qmpi_comm_can_be_asked(comm) ? comm_processes(comm, is_checked) : NULL;
    if (processes && !last_query.changing) {
        last_query.changing = 1;
        atomic_signal_fence(memory_order_seq_cst);
        last_query.comm = comm;
        last_query.generation = now;
        last_query.processes = processes;
        atomic_signal_fence(memory_order_seq_cst);
        last_query.changing = 0;
    }
    return processes;
}

const struct qmpi_comm_processes *qmpi_comm_processes_of_window(MPI_Win window, bool is_checked)
{
    if (window == MPI_WIN_NULL)
        return NULL;
    struct qmpi_comm_processes *processes = qmpi_attribute_of_window(&of_window, window);
    if (processes || !is_checked)
        return processes;
    pthread_mutex_lock(&processes_lock);
    processes = qmpi_attribute_of_window(&of_window, window);
    if (!processes && (processes = find_window(window)) &&
        !qmpi_attribute_set_window(&of_window, window, processes))
        processes = NULL;
    pthread_mutex_unlock(&processes_lock);
    return processes;
}

/* The window is the last argument of the call. */
void qmpi_comm_add_window(const QMPIX_Call *call)
{
    if (*(const int *)call->result == MPI_SUCCESS)
        qmpi_comm_processes_of_window(
            *QMPI_ARGUMENT(call, call->function->parameter_count, MPI_Win *), true);
}

int qmpi_comm_world_rank(const struct qmpi_comm_processes *processes, int rank)
{
    if (!processes->world || rank < 0 || rank >= processes->peers)
        return MPI_UNDEFINED;
    return processes->world[rank];
}

int QMPIX_Comm_world_rank(MPI_Comm comm, int rank, int *world)
{
    const struct qmpi_comm_processes *processes;
    if (comm == MPI_COMM_NULL || !world)
        return MPI_ERR_ARG;
    processes = qmpi_comm_processes_of(comm, false);
    if (!processes)
        return MPI_ERR_OTHER;
    *world = qmpi_comm_world_rank(processes, rank);
    return MPI_SUCCESS;
}

/* ---- Identities ------------------------------------------------------------------------------ */

bool qmpi_comm_id_asked;

struct identity {
    /* 0: a predefined communicator whose id is not known yet. Stored with release order after the
     * other members, under the lock, and loaded with acquire order. */
    uint64_t id;
    uint64_t parent;
    uint64_t members; /* a hash of the ranks of the members in the world */
    int processes;
    uint64_t creations;          /* the number of creations that were collective over the
                                    communicator */
    struct qmpi_table by_groups; /* the numbers of creations by some of its members only, by
                                    group */
};

QMPI_LOCK(identity_lock);

/* These are not allocated, because their numbers of creations must never be lost. `none` counts
 * creations without a parent. */
static struct identity world = {.by_groups.value_size = sizeof(uint64_t)},
                       self = {.by_groups.value_size = sizeof(uint64_t)},
                       none = {.by_groups.value_size = sizeof(uint64_t)};

/* ---- Hashes: the same on processors of any kind ---------------------------------------------- */

static uint64_t mix_bits(uint64_t value)
{
    value += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

static uint64_t combine_hashes(uint64_t hash, uint64_t value)
{
    return mix_bits(mix_bits(hash) + value);
}

uint64_t qmpi_comm_id_of_text(const char *text)
{
    uint64_t hash = 1;
    for (; *text; text++)
        hash = combine_hashes(hash, (unsigned char)*text);
    return hash;
}

/* ---- Members --------------------------------------------------------------------------------- */

static bool hash_ranks(MPI_Group group, int count, uint64_t *hash)
{
    int *ranks = calloc(2 * (size_t)count + 1, sizeof *ranks);
    int *world_ranks = ranks + count;
    for (int i = 0; ranks && i < count; i++)
        ranks[i] = i;
    bool known = ranks && qmpi_comm_translate_ranks(group, count, ranks, world_ranks);
    *hash = (uint64_t)count;
    for (int i = 0; known && i < count; i++) {
        known = world_ranks[i] != MPI_UNDEFINED;
        *hash = combine_hashes(*hash, (uint64_t)world_ranks[i]);
    }
    free(ranks);
    return known;
}

/* Hashes the members of a group, adds its size to `processes`, and frees the group. */
static bool hash_group(MPI_Group group, int *processes, uint64_t *hash)
{
    int count = 0;
    QMPI_PMPI(Group_size, GROUP_SIZE)(group, &count);
    const bool known = hash_ranks(group, count, hash);
    *processes += count;
    QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    return known;
}

/* Sets `members` and `processes`. The hashes of the two groups of an intercommunicator are combined
 * in the same order on both sides. Returns false if some members are not in the world. */
static bool identify_members(MPI_Comm comm, struct identity *identity)
{
    MPI_Group group;
    int inter = 0;
    uint64_t remote;
    if (QMPI_PMPI(Comm_test_inter, COMM_TEST_INTER)(comm, &inter) != MPI_SUCCESS ||
        QMPI_PMPI(Comm_group, COMM_GROUP)(comm, &group) != MPI_SUCCESS ||
        !hash_group(group, &identity->processes, &identity->members))
        return false;
    if (!inter)
        return true;
    if (QMPI_PMPI(Comm_remote_group, COMM_REMOTE_GROUP)(comm, &group) != MPI_SUCCESS ||
        !hash_group(group, &identity->processes, &remote))
        return false;
    const uint64_t local = identity->members;
    identity->members =
        local < remote ? combine_hashes(local, remote) : combine_hashes(remote, local);
    return true;
}

/* ---- Stored with the communicator ------------------------------------------------------------ */

static void drop_identity(void *value)
{
    struct identity *identity = value;
    qmpi_table_free(&identity->by_groups);
    free(identity);
}

static struct qmpi_attribute of_identity = QMPI_ATTRIBUTE(drop_identity);

/* Identifies a predefined communicator. It has no parent and was not created by a numbered call;
 * `name` is used instead of the parent and the number. */
static struct identity *find_predefined(struct identity *identity, MPI_Comm comm, uint64_t name)
{
    if (__atomic_load_n(&identity->id, __ATOMIC_ACQUIRE))
        return identity;
    pthread_mutex_lock(&identity_lock);
    struct identity found = {.processes = 0};
    if (!identity->id && identify_members(comm, &found)) {
        identity->members = found.members;
        identity->processes = found.processes;
        __atomic_store_n(&identity->id, combine_hashes(name, found.members), __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&identity_lock);
    return identity->id ? identity : NULL;
}

static struct identity *find_identity(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD)
        return find_predefined(&world, comm, 1);
    if (comm == MPI_COMM_SELF)
        return find_predefined(&self, comm, 2);
    return qmpi_attribute_of_comm(&of_identity, comm);
}

static void set_identity(MPI_Comm comm, const struct identity *found)
{
    struct identity *identity = malloc(sizeof *identity);
    if (!identity)
        return;
    *identity = *found;
    identity->id += !identity->id;
    qmpi_table_start(&identity->by_groups, sizeof(uint64_t));
    qmpi_attribute_set_comm(&of_identity, comm, identity);
}

/* ---- Creations ------------------------------------------------------------------------------- */

static uint64_t next_number(struct identity *parent)
{
    return __atomic_add_fetch(&parent->creations, 1, __ATOMIC_RELAXED);
}

static void set_child(MPI_Comm created, struct identity *child, const struct identity *parent,
                      uint64_t number)
{
    child->parent = parent->id;
    child->id = combine_hashes(combine_hashes(parent->id, number), child->members);
    set_identity(created, child);
}

/* The members are taken from the parent, because a nonblocking copy cannot be queried until it is
 * complete. Until then, its handle can only be used for attributes. */
void qmpi_comm_id_note_copy(MPI_Comm comm, MPI_Comm created)
{
    struct identity *parent = find_identity(comm);
    if (!parent)
        return;
    const uint64_t number = next_number(parent);
    struct identity child = {.members = parent->members, .processes = parent->processes};
    if (created != MPI_COMM_NULL)
        set_child(created, &child, parent, number);
}

void qmpi_comm_id_note_part(MPI_Comm comm, MPI_Comm created)
{
    struct identity *parent = find_identity(comm), child = {.processes = 0};
    if (!parent)
        return;
    const uint64_t number = next_number(parent);
    if (created != MPI_COMM_NULL && identify_members(created, &child))
        set_child(created, &child, parent, number);
}

void qmpi_comm_id_note_group(MPI_Comm comm, MPI_Comm created, uint64_t tag)
{
    struct identity *parent = comm == MPI_COMM_NULL ? &none : find_identity(comm),
                    child = {.processes = 0};
    if (!parent || created == MPI_COMM_NULL || !identify_members(created, &child))
        return;
    const uint64_t key = combine_hashes(child.members, tag);
    pthread_mutex_lock(&identity_lock);
    /* If memory was exhausted, the number for each key may be too small, so none is used. */
    uint64_t *count = parent->by_groups.failed ? NULL : qmpi_table_put(&parent->by_groups, key);
    const uint64_t number = count ? ++*count : 0;
    pthread_mutex_unlock(&identity_lock);
    if (number) /* combined with the key, it is hardly ever equal to the number of a creation that
                   is collective over the parent */
        set_child(created, &child, parent, combine_hashes(key, number));
}

int QMPIX_Comm_get_identity(MPI_Comm comm, QMPIX_Comm_identity *identity)
{
    if (comm == MPI_COMM_NULL || !identity || identity->size < sizeof *identity)
        return MPI_ERR_ARG;
    const struct identity *found =
        qmpi_comm_id_asked && qmpi_comm_can_be_asked(comm) ? find_identity(comm) : NULL;
    if (!found)
        return MPI_ERR_OTHER;
    identity->id = found->id;
    identity->parent = found->parent;
    identity->processes = found->processes;
    return MPI_SUCCESS;
}
