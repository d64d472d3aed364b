/* SPDX-License-Identifier: MIT */
/* See comm_info.h. */
#include "observe/comm_info.h"

#include "observe/attributes.h"
#include "observe/record.h"
#include "observe/world.h"
#include "util/util.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

QMPI_LOCK(lock);

/* Counts the records that were freed: what a thread remembers from before may be one of them. */
static unsigned generation = 1;

/* What this thread was told last. It is not read or changed while it is being changed, which only a
 * signal handler in the same thread could do. */
static _Thread_local struct {
    volatile sig_atomic_t changing;
    MPI_Comm comm;
    unsigned generation;
    const struct qmpi_processes *processes;
} last;

static void drop(void *value)
{
    struct qmpi_processes *processes = value;
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    free(processes->world);
    free(processes->sources);
    free(processes->destinations);
    free(processes);
}

static struct qmpi_attribute of_comm = QMPI_ATTRIBUTE(drop), of_window = QMPI_ATTRIBUTE(drop);

/* ---- Ranks in the world ---------------------------------------------------------------------- */

static void translate(struct qmpi_processes *processes, MPI_Group group)
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
        qmpi_world_translate(group, processes->peers, ranks, processes->world);
    free(ranks);
}

/* ---- Neighbours: MPI 4.0, section 8.6, "Neighborhood Collective Communication" --------------- */

static bool make_room(struct qmpi_processes *processes, int in, int out)
{
    processes->sources = calloc((size_t)in + 1, sizeof *processes->sources);
    processes->destinations = calloc((size_t)out + 1, sizeof *processes->destinations);
    if (!processes->sources || !processes->destinations)
        return false;
    processes->in = in;
    processes->out = out;
    return true;
}

/* In each dimension first the one before, then the one after. */
static void find_grid(MPI_Comm comm, struct qmpi_processes *processes)
{
    int dimensions = 0;
    QMPI_PMPI(Cartdim_get, CARTDIM_GET)(comm, &dimensions);
    if (!make_room(processes, 2 * dimensions, 2 * dimensions))
        return;
    for (int i = 0; i < dimensions; i++) {
        int before = MPI_PROC_NULL, after = MPI_PROC_NULL;
        QMPI_PMPI(Cart_shift, CART_SHIFT)(comm, i, 1, &before, &after);
        processes->sources[2 * i] = processes->destinations[2 * i] = before;
        processes->sources[2 * i + 1] = processes->destinations[2 * i + 1] = after;
    }
}

static void find_graph(MPI_Comm comm, struct qmpi_processes *processes)
{
    int count = 0;
    QMPI_PMPI(Graph_neighbors_count, GRAPH_NEIGHBORS_COUNT)(comm, processes->rank, &count);
    if (!make_room(processes, count, count))
        return;
    QMPI_PMPI(Graph_neighbors, GRAPH_NEIGHBORS)
    (comm, processes->rank, count, processes->sources);
    for (int i = 0; i < count; i++)
        processes->destinations[i] = processes->sources[i];
}

static void find_distributed_graph(MPI_Comm comm, struct qmpi_processes *processes)
{
    int in = 0, out = 0, weighted = 0;
    QMPI_PMPI(Dist_graph_neighbors_count, DIST_GRAPH_NEIGHBORS_COUNT)(comm, &in, &out, &weighted);
    int *weights = calloc((size_t)in + (size_t)out + 1, sizeof *weights);
    if (weights && make_room(processes, in, out))
        QMPI_PMPI(Dist_graph_neighbors, DIST_GRAPH_NEIGHBORS)
    (comm, in, processes->sources, weights, out, processes->destinations, weights + in);
    free(weights);
}

/* Sets in, out, sources and destinations; in and out are -1 without a topology. */
static void find_topology(MPI_Comm comm, struct qmpi_processes *processes)
{
    int topology = MPI_UNDEFINED;
    processes->in = processes->out = -1;
    if (processes->is_inter)
        return;
    QMPI_PMPI(Topo_test, TOPO_TEST)(comm, &topology);
    if (topology == MPI_CART)
        find_grid(comm, processes);
    else if (topology == MPI_GRAPH)
        find_graph(comm, processes);
    else if (topology == MPI_DIST_GRAPH)
        find_distributed_graph(comm, processes);
}

/* ---- All of a communicator ------------------------------------------------------------------- */

static struct qmpi_processes *find_comm(MPI_Comm comm)
{
    struct qmpi_processes *processes = calloc(1, sizeof *processes);
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
    translate(processes, group);
    QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    find_topology(comm, processes);
    return processes;
}

static struct qmpi_processes *find_window(MPI_Win window)
{
    struct qmpi_processes *processes = calloc(1, sizeof *processes);
    MPI_Group group;
    if (!processes || QMPI_PMPI(Win_get_group, WIN_GET_GROUP)(window, &group) != MPI_SUCCESS) {
        free(processes);
        return NULL;
    }
    QMPI_PMPI(Group_size, GROUP_SIZE)(group, &processes->peers);
    QMPI_PMPI(Group_rank, GROUP_RANK)(group, &processes->rank);
    processes->local = processes->peers;
    processes->in = processes->out = -1;
    translate(processes, group);
    QMPI_PMPI(Group_free, GROUP_FREE)(&group);
    return processes;
}

/* ---- Stored with the handle ------------------------------------------------------------------ */

static const struct qmpi_processes *comm_processes(MPI_Comm comm)
{
    struct qmpi_processes *processes = qmpi_attribute_of_comm(&of_comm, comm);
    if (processes)
        return processes;
    pthread_mutex_lock(&lock);
    processes = qmpi_attribute_of_comm(&of_comm, comm);
    if (!processes && (processes = find_comm(comm)) &&
        !qmpi_attribute_set_comm(&of_comm, comm, processes))
        processes = NULL;
    pthread_mutex_unlock(&lock);
    /* MPI_Finalize deletes the attributes of MPI_COMM_SELF, and with them what is stored here ends.
     * Those of MPI_COMM_WORLD remain in Open MPI 5. */
    if (comm == MPI_COMM_WORLD)
        comm_processes(MPI_COMM_SELF);
    return processes;
}

const struct qmpi_processes *qmpi_processes_of_comm(MPI_Comm comm)
{
    const unsigned now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
    if (!last.changing && last.generation == now && last.comm == comm)
        return last.processes;
    const struct qmpi_processes *processes =
        qmpi_world_may_hold(comm) ? comm_processes(comm) : NULL;
    if (processes && !last.changing) {
        last.changing = 1;
        atomic_signal_fence(memory_order_seq_cst);
        last.comm = comm;
        last.generation = now;
        last.processes = processes;
        atomic_signal_fence(memory_order_seq_cst);
        last.changing = 0;
    }
    return processes;
}

const struct qmpi_processes *qmpi_processes_of_window(MPI_Win window)
{
    if (window == MPI_WIN_NULL)
        return NULL;
    struct qmpi_processes *processes = qmpi_attribute_of_window(&of_window, window);
    if (processes)
        return processes;
    pthread_mutex_lock(&lock);
    processes = qmpi_attribute_of_window(&of_window, window);
    if (!processes && (processes = find_window(window)) &&
        !qmpi_attribute_set_window(&of_window, window, processes))
        processes = NULL;
    pthread_mutex_unlock(&lock);
    return processes;
}

int qmpi_processes_world(const struct qmpi_processes *processes, int rank)
{
    if (!processes->world || rank < 0 || rank >= processes->peers)
        return MPI_UNDEFINED;
    return processes->world[rank];
}

int QMPIX_Comm_world_rank(MPI_Comm comm, int rank, int *world)
{
    const struct qmpi_processes *processes;
    if (comm == MPI_COMM_NULL || !world)
        return MPI_ERR_ARG;
    processes = qmpi_processes_of_comm(comm);
    if (!processes)
        return MPI_ERR_OTHER;
    *world = qmpi_processes_world(processes, rank);
    return MPI_SUCCESS;
}
