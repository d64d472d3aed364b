/* SPDX-License-Identifier: MIT */
/* See lengths.h. */
#include "lengths.h"

#include "toolkit/toolkit.h"

#include <string.h>

long long length_number(const void *from, size_t size)
{
    int small = 0;
    long long large = 0;
    if (size == sizeof small) {
        memcpy(&small, from, size);
        return small;
    }
    memcpy(&large, from, size < sizeof large ? size : sizeof large);
    return large;
}

/* Reads an argument that is an integer, or points to one. False: it cannot be read. */
static bool length_read(const QMPIX_Call *call, int parameter, long long *number)
{
    const QMPIX_Parameter *described = &call->function->parameters[parameter];
    unsigned char bytes[sizeof *number];
    const void *from = call->arguments[parameter];
    if (described->size > sizeof bytes)
        return false;
    if (described->indirection) {
        from = *(const void *const *)from;
        if (!from || !tool_safe_copy(bytes, from, described->size))
            return false;
        from = bytes;
    }
    *number = length_number(from, described->size);
    return true;
}

/* Element `i` of an array of integers; its last one or all of them together give a length. */
static bool read_element(const QMPIX_Call *call, int parameter, long long i, long long *number)
{
    const size_t size = call->function->parameters[parameter].size;
    const char *array = *(const char *const *)call->arguments[parameter];
    unsigned char bytes[sizeof *number];
    if (!array || i < 0 || size > sizeof bytes ||
        !tool_safe_copy(bytes, array + (size_t)i * size, size))
        return false;
    *number = length_number(bytes, size);
    return true;
}

static long long last_of(const QMPIX_Call *call, int array, long long count)
{
    long long last;
    return read_element(call, array, count - 1, &last) ? last : -1;
}

static long long sum_of(const QMPIX_Call *call, int array, long long count)
{
    enum { MOST = 4096 }; /* what is longer is not worth the time */
    long long sum = 0, element;
    for (long long i = 0; i < count; i++) {
        if (count > MOST || !read_element(call, array, i, &element) || element < 0)
            return -1;
        sum += element;
    }
    return sum;
}

/* The communicator that the call is given. */
static MPI_Comm length_comm(const QMPIX_Call *call, const struct shape *shape)
{
    MPI_Comm comm = MPI_COMM_NULL;
    QMPIX_Call_get_argument(call, shape->comm, &comm);
    return comm;
}

bool length_is_at_root(struct layer *layer, const QMPIX_Call *call, const struct shape *shape)
{
    struct processes processes;
    if (shape->root < 0 || shape->comm < 0)
        return true;
    int root;
    QMPIX_Call_get_argument(call, shape->root, &root);
    const MPI_Comm comm = length_comm(call, shape);
    if (!objects_processes(&layer->objects, comm, &processes))
        return false;
    return processes.is_inter ? root == MPI_ROOT : root == processes.rank;
}

/* ---- Asking MPI ------------------------------------------------------------------------------ */

static long long of_processes(struct layer *layer, const QMPIX_Call *call,
                              const struct shape *shape, enum length length)
{
    struct processes processes;
    if (shape->comm < 0 ||
        !objects_processes(&layer->objects, length_comm(call, shape), &processes))
        return -1;
    switch (length) {
    case LENGTH_LOCAL:
        return processes.local;
    case LENGTH_INDEGREE:
        return processes.indegree;
    case LENGTH_OUTDEGREE:
        return processes.outdegree;
    case LENGTH_DIMENSIONS:
        return processes.dimensions;
    default:
        return processes.peers;
    }
}

static long long of_graph(const QMPIX_Call *call, const struct shape *shape, enum length length)
{
    int nodes = -1, edges = -1, neighbors = -1;
    const MPI_Comm comm = length_comm(call, shape);
    if (length == LENGTH_NEIGHBORS) {
        long long rank;
        int place;
        if (QMPIX_Call_find_argument(call, "rank", &place) == MPI_SUCCESS &&
            length_read(call, place, &rank))
            PMPI_Graph_neighbors_count(comm, (int)rank, &neighbors);
        return neighbors;
    }
    PMPI_Graphdims_get(comm, &nodes, &edges);
    return length == LENGTH_NODES ? nodes : edges;
}

static long long of_contents(const QMPIX_Call *call, const struct shape *shape, enum length length)
{
    int combiner;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    QMPIX_Call_get_argument(call, shape->datatype, &type);
    const size_t of_length = (size_t)(length - LENGTH_INTEGERS);
#if MPI_VERSION >= 4
    if (call->function->number == MPI_TYPE_GET_CONTENTS_C_T) {
        MPI_Count large[4] = {-1, -1, -1, -1};
        PMPI_Type_get_envelope_c(type, &large[0], &large[1], &large[2], &large[3], &combiner);
        return large[of_length];
    }
#endif
    int small[4] = {-1, -1, -1, -1};
    PMPI_Type_get_envelope(type, &small[0], &small[1], &small[3], &combiner);
    return small[of_length];
}

static long long ask(struct layer *layer, const QMPIX_Call *call, const struct shape *shape,
                     enum length length)
{
    if (length >= LENGTH_PEERS && length <= LENGTH_DIMENSIONS)
        return of_processes(layer, call, shape, length);
    if (!call->result)
        return -1;
    return length >= LENGTH_INTEGERS ? of_contents(call, shape, length)
                                     : of_graph(call, shape, length);
}

/* Fortran's status has the integers of C's. */
static long long of_status(const QMPIX_Call *call)
{
    for (int i = 0; i < call->function->parameter_count; i++) {
        if (call->function->parameters[i].kind == QMPIX_KIND_STATUS)
            return (long long)(call->function->parameters[i].size / sizeof(int));
    }
    return -1;
}

long long length_of(struct layer *layer, const QMPIX_Call *call, const struct shape *shape,
                    int parameter)
{
    const enum length length = shape->shown[parameter].length;
    const int of = shape->shown[parameter].of;
    long long given = -1;
    const bool needs_root = length == LENGTH_OF_ROOT || length == LENGTH_SUM_ROOT ||
                            length == LENGTH_PEERS_ROOT || length == LENGTH_STRINGS_ROOT;
    if (needs_root && !length_is_at_root(layer, call, shape))
        return -1;
    switch (length) {
    case LENGTH_ONE:
        return 1;
    case LENGTH_STATUS:
        return of_status(call);
    case LENGTH_OF:
    case LENGTH_OF_ROOT:
        return of >= 0 && length_read(call, of, &given) ? given : -1;
    case LENGTH_LAST:
        /* The array that it is the last element of has a length, too. */
        return of < 0 ? -1 : last_of(call, of, length_of(layer, call, shape, of));
    case LENGTH_SUM:
    case LENGTH_SUM_ROOT:
        return of < 0 ? -1 : sum_of(call, of, length_of(layer, call, shape, of));
    default:
        break;
    }
    const long long there = ask(layer, call, shape, length);
    return of >= 0 && length_read(call, of, &given) && given < there ? given : there;
}
