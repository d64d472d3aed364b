/* SPDX-License-Identifier: MIT */
/* See topology.h. */
#include "path/topology.h"

#include <stdlib.h>

static MPI_Comm copy_cart(MPI_Comm comm, MPI_Comm shadow, int *neighbor_count)
{
    MPI_Comm copy = MPI_COMM_NULL;
    int dimensions = 0;
    if (PMPI_Cartdim_get(comm, &dimensions) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    int *values = calloc(3 * (size_t)dimensions + 1, sizeof *values);
    if (values && PMPI_Cart_get(comm, dimensions, values, values + dimensions,
                                values + 2 * dimensions) == MPI_SUCCESS)
        PMPI_Cart_create(shadow, dimensions, values, values + dimensions, 0, &copy);
    free(values);
    *neighbor_count = 2 * dimensions;
    return copy;
}

static MPI_Comm copy_graph(MPI_Comm comm, MPI_Comm shadow, int *neighbor_count)
{
    MPI_Comm copy = MPI_COMM_NULL;
    int nodes = 0, edges = 0, rank;
    if (PMPI_Graphdims_get(comm, &nodes, &edges) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    int *values = calloc((size_t)nodes + (size_t)edges + 1, sizeof *values);
    if (values && PMPI_Graph_get(comm, nodes, edges, values, values + nodes) == MPI_SUCCESS)
        PMPI_Graph_create(shadow, nodes, values, values + nodes, 0, &copy);
    free(values);
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, neighbor_count);
    return copy;
}

static MPI_Comm copy_dist_graph(MPI_Comm comm, MPI_Comm shadow, int *neighbor_count)
{
    MPI_Comm copy = MPI_COMM_NULL;
    int in = 0, out = 0, weighted;
    if (PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    /* With weights, which do not matter: libqmpi has no MPI_UNWEIGHTED. */
    int *sources = calloc(2 * ((size_t)in + (size_t)out) + 1, sizeof *sources);
    int *destinations = sources + in, *weights = destinations + out;
    if (sources && PMPI_Dist_graph_neighbors(comm, in, sources, weights, out, destinations,
                                             weights + in) == MPI_SUCCESS)
        PMPI_Dist_graph_create_adjacent(shadow, in, sources, weights, out, destinations,
                                        weights + in, MPI_INFO_NULL, 0, &copy);
    free(sources);
    *neighbor_count = in;
    return copy;
}

MPI_Comm path_topology_copy(MPI_Comm comm, MPI_Comm shadow, int *neighbor_count)
{
    int kind = MPI_UNDEFINED;
    *neighbor_count = 0;
    PMPI_Topo_test(comm, &kind);
    MPI_Comm copy = kind == MPI_CART         ? copy_cart(comm, shadow, neighbor_count)
                    : kind == MPI_GRAPH      ? copy_graph(comm, shadow, neighbor_count)
                    : kind == MPI_DIST_GRAPH ? copy_dist_graph(comm, shadow, neighbor_count)
                                             : MPI_COMM_NULL;
    if (copy != MPI_COMM_NULL)
        PMPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    return copy;
}
