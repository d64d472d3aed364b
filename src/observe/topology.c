/* SPDX-License-Identifier: MIT */
/* See topology.h. MPI 4.0, section 8.6, "Neighborhood Collective Communication". */
#include "observe/topology.h"

#include "observe/semantics.h"

#include <stdlib.h>

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

void qmpi_topology_find(MPI_Comm comm, struct qmpi_processes *processes)
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
