/* SPDX-License-Identifier: MIT */
/* See functions.h: all by the names and groups of functions. */
#define _GNU_SOURCE
#include "trace/otf2/functions.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct word {
    const char *name; /* of the function, without MPI_, I, Neighbor_, _init and _c */
    OTF2_CollectiveOp operation;
    OTF2_RegionRole role;
};

static const struct word collectives[] = {
    {"barrier", OTF2_COLLECTIVE_OP_BARRIER, OTF2_REGION_ROLE_BARRIER},
    {"bcast", OTF2_COLLECTIVE_OP_BCAST, OTF2_REGION_ROLE_COLL_ONE2ALL},
    {"gather", OTF2_COLLECTIVE_OP_GATHER, OTF2_REGION_ROLE_COLL_ALL2ONE},
    {"gatherv", OTF2_COLLECTIVE_OP_GATHERV, OTF2_REGION_ROLE_COLL_ALL2ONE},
    {"scatter", OTF2_COLLECTIVE_OP_SCATTER, OTF2_REGION_ROLE_COLL_ONE2ALL},
    {"scatterv", OTF2_COLLECTIVE_OP_SCATTERV, OTF2_REGION_ROLE_COLL_ONE2ALL},
    {"allgather", OTF2_COLLECTIVE_OP_ALLGATHER, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"alltoall", OTF2_COLLECTIVE_OP_ALLTOALL, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"reduce", OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE},
    {"reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER, OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK,
     OTF2_REGION_ROLE_COLL_ALL2ALL},
    {"scan", OTF2_COLLECTIVE_OP_SCAN, OTF2_REGION_ROLE_COLL_OTHER},
    {"exscan", OTF2_COLLECTIVE_OP_EXSCAN, OTF2_REGION_ROLE_COLL_OTHER},
};

/* Collectives that make or free objects, by the start of the name without MPI_. */
static const struct word objects[] = {
    {"Win_allocate", OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE, OTF2_REGION_ROLE_RMA},
    {"Win_create", OTF2_COLLECTIVE_OP_CREATE_HANDLE, OTF2_REGION_ROLE_RMA},
    {"Win_free", OTF2_COLLECTIVE_OP_DESTROY_HANDLE, OTF2_REGION_ROLE_RMA},
    {"Comm_free", OTF2_COLLECTIVE_OP_DESTROY_HANDLE, OTF2_REGION_ROLE_FUNCTION},
    {"Comm_disconnect", OTF2_COLLECTIVE_OP_DESTROY_HANDLE, OTF2_REGION_ROLE_FUNCTION},
    {"Comm_", OTF2_COLLECTIVE_OP_CREATE_HANDLE, OTF2_REGION_ROLE_FUNCTION},
    {"Intercomm_", OTF2_COLLECTIVE_OP_CREATE_HANDLE, OTF2_REGION_ROLE_FUNCTION},
    {"Cart_", OTF2_COLLECTIVE_OP_CREATE_HANDLE, OTF2_REGION_ROLE_FUNCTION},
    {"Graph_", OTF2_COLLECTIVE_OP_CREATE_HANDLE, OTF2_REGION_ROLE_FUNCTION},
    {"Dist_graph_", OTF2_COLLECTIVE_OP_CREATE_HANDLE, OTF2_REGION_ROLE_FUNCTION},
    {"File_open", OTF2_COLLECTIVE_OP_CREATE_HANDLE, OTF2_REGION_ROLE_FILE_IO_METADATA},
    {"File_close", OTF2_COLLECTIVE_OP_DESTROY_HANDLE, OTF2_REGION_ROLE_FILE_IO_METADATA},
};

static size_t cut_end(const char *name, size_t length, const char *end)
{
    const size_t size = strlen(end);
    return length > size && !strncmp(name + length - size, end, size) ? length - size : length;
}

/* NULL: the function, named without MPI_, is none of these. */
static const struct word *find_collective(const char *name)
{
    size_t length = cut_end(name, strlen(name), "_c");
    length = cut_end(name, length, "_init");
    if (name[0] == 'I' && islower((unsigned char)name[1])) {
        name++;
        length--;
    }
    if (length > 9 && !strncasecmp(name, "neighbor_", 9)) {
        name += 9;
        length -= 9;
    }
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        if (strlen(collectives[i].name) == length &&
            !strncasecmp(collectives[i].name, name, length))
            return &collectives[i];
    }
    return NULL;
}

static const struct word *find_object(const char *name)
{
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        if (!strncmp(objects[i].name, name, strlen(objects[i].name)))
            return &objects[i];
    }
    return NULL;
}

static OTF2_RegionRole role_of_group(const char *group)
{
    if (!strcmp(group, "point-to-point") || !strcmp(group, "completion"))
        return OTF2_REGION_ROLE_POINT2POINT;
    if (!strcmp(group, "collective"))
        return OTF2_REGION_ROLE_COLL_OTHER;
    if (!strcmp(group, "one-sided"))
        return OTF2_REGION_ROLE_RMA;
    return !strcmp(group, "I/O") ? OTF2_REGION_ROLE_FILE_IO_METADATA : OTF2_REGION_ROLE_FUNCTION;
}

static OTF2_RmaAtomicType find_atomic(const char *name)
{
    if (strcasestr(name, "compare_and_swap"))
        return OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP;
    return strcasestr(name, "fetch_and_op") || strcasestr(name, "get_accumulate")
               ? OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE
               : OTF2_RMA_ATOMIC_TYPE_ACCUMULATE;
}

struct archive_function archive_describe(const struct trace_function *function)
{
    const char *line = strchr(function->name, '_'), *name = line ? line + 1 : function->name;
    const struct word *word = find_collective(name);
    if (!word)
        word = find_object(name);
    struct archive_function found = {.role = role_of_group(function->group),
                                     .operation = OTF2_COLLECTIVE_OP_BARRIER,
                                     .atomic = find_atomic(name)};
    if (word) {
        found.operation = word->operation;
        found.role = word->role == OTF2_REGION_ROLE_FUNCTION ? found.role : word->role;
    }
    if (!strncmp(name, "File_", 5)) {
        found.writes_file = strstr(name, "write");
        found.accesses_file = found.writes_file || strstr(name, "read");
        found.is_collective_access = strstr(name, "_all") || strstr(name, "_ordered");
        if (found.accesses_file)
            found.role = OTF2_REGION_ROLE_FILE_IO;
    }
    return found;
}
