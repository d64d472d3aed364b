/* SPDX-License-Identifier: MIT */
/* See roles.h. */
#include "path/roles.h"

#include <ctype.h>
#include <string.h>

struct path_role path_roles[MPI_LAST_FUNC];

struct named {
    const char *name;
    enum path_event event;
    enum path_direction direction;
};

/* Without MPI_; and those with _c. */
static const struct named exact[] = {
    {"Init", PATH_BEGINS_MPI, 0},
    {"Init_thread", PATH_BEGINS_MPI, 0},
    {"Finalize", PATH_ENDS_MPI, 0},
    {"Send", PATH_MESSAGE, 0},
    {"Bsend", PATH_MESSAGE, 0},
    {"Ssend", PATH_MESSAGE, 0},
    {"Rsend", PATH_MESSAGE, 0},
    {"Isend", PATH_MESSAGE, 0},
    {"Ibsend", PATH_MESSAGE, 0},
    {"Issend", PATH_MESSAGE, 0},
    {"Irsend", PATH_MESSAGE, 0},
    {"Send_init", PATH_MESSAGE, 0},
    {"Bsend_init", PATH_MESSAGE, 0},
    {"Ssend_init", PATH_MESSAGE, 0},
    {"Rsend_init", PATH_MESSAGE, 0},
    {"Recv", PATH_MESSAGE, 0},
    {"Irecv", PATH_MESSAGE, 0},
    {"Recv_init", PATH_MESSAGE, 0},
    {"Mprobe", PATH_MESSAGE, 0},
    {"Improbe", PATH_MESSAGE, 0},
    {"Sendrecv", PATH_MESSAGE, 0},
    {"Sendrecv_replace", PATH_MESSAGE, 0},
    {"Isendrecv", PATH_MESSAGE, 0},
    {"Isendrecv_replace", PATH_MESSAGE, 0},
    {"Start", PATH_STARTS, 0},
    {"Startall", PATH_STARTS, 0},
    {"Wait", PATH_COMPLETES, 0},
    {"Waitany", PATH_COMPLETES, 0},
    {"Waitall", PATH_COMPLETES, 0},
    {"Waitsome", PATH_COMPLETES, 0},
    {"Test", PATH_COMPLETES, 0},
    {"Testany", PATH_COMPLETES, 0},
    {"Testall", PATH_COMPLETES, 0},
    {"Testsome", PATH_COMPLETES, 0},
    {"Cancel", PATH_CANCELS, 0},
    {"Request_free", PATH_FREES_REQUEST, 0},
    {"Comm_dup", PATH_CREATES, PATH_TO_ALL},
    {"Comm_dup_with_info", PATH_CREATES, PATH_TO_ALL},
    {"Comm_split", PATH_CREATES, PATH_TO_ALL},
    {"Comm_split_type", PATH_CREATES, PATH_TO_ALL},
    {"Comm_create", PATH_CREATES, PATH_TO_ALL},
    {"Comm_create_group", PATH_CREATES, 0},
    {"Comm_create_from_group", PATH_CREATES, 0},
    {"Cart_create", PATH_CREATES, PATH_TO_ALL},
    {"Cart_sub", PATH_CREATES, PATH_TO_ALL},
    {"Graph_create", PATH_CREATES, PATH_TO_ALL},
    {"Dist_graph_create", PATH_CREATES, PATH_TO_ALL},
    {"Dist_graph_create_adjacent", PATH_CREATES, PATH_TO_ALL},
    {"Intercomm_create", PATH_CREATES, 0},
    {"Intercomm_create_from_groups", PATH_CREATES, 0},
    {"Intercomm_merge", PATH_CREATES, PATH_TO_ALL},
    {"Comm_idup", PATH_COPIES, PATH_TO_ALL},
    {"Comm_idup_with_info", PATH_COPIES, PATH_TO_ALL},
    {"Comm_free", PATH_FREES_COMM, 0},
    {"Comm_disconnect", PATH_FREES_COMM, 0},
    {"Win_create", PATH_CREATES_WINDOW, PATH_TO_ALL},
    {"Win_allocate", PATH_CREATES_WINDOW, PATH_TO_ALL},
    {"Win_allocate_shared", PATH_CREATES_WINDOW, PATH_TO_ALL},
    {"Win_create_dynamic", PATH_CREATES_WINDOW, PATH_TO_ALL},
    {"Win_fence", PATH_FENCE, PATH_TO_ALL},
    {"Win_free", PATH_FREES_WINDOW, PATH_TO_ALL},
    {"File_open", PATH_COLLECTIVE, PATH_TO_ALL},
};

/* And their nonblocking and persistent variants. */
static const struct named collectives[] = {
    {"Barrier", PATH_COLLECTIVE, PATH_TO_ALL},
    {"Allreduce", PATH_COLLECTIVE, PATH_TO_ALL},
    {"Allgather", PATH_COLLECTIVE, PATH_TO_ALL},
    {"Allgatherv", PATH_COLLECTIVE, PATH_TO_ALL},
    {"Alltoall", PATH_COLLECTIVE, PATH_TO_ALL},
    {"Alltoallv", PATH_COLLECTIVE, PATH_TO_ALL},
    {"Alltoallw", PATH_COLLECTIVE, PATH_TO_ALL},
    {"Reduce_scatter", PATH_COLLECTIVE, PATH_TO_ALL},
    {"Reduce_scatter_block", PATH_COLLECTIVE, PATH_TO_ALL},
    {"Bcast", PATH_COLLECTIVE, PATH_FROM_ROOT},
    {"Scatter", PATH_COLLECTIVE, PATH_FROM_ROOT},
    {"Scatterv", PATH_COLLECTIVE, PATH_FROM_ROOT},
    {"Reduce", PATH_COLLECTIVE, PATH_TO_ROOT},
    {"Gather", PATH_COLLECTIVE, PATH_TO_ROOT},
    {"Gatherv", PATH_COLLECTIVE, PATH_TO_ROOT},
    {"Scan", PATH_COLLECTIVE, PATH_SCAN},
    {"Exscan", PATH_COLLECTIVE, PATH_EXSCAN},
    {"Neighbor_allgather", PATH_COLLECTIVE, PATH_TO_NEIGHBORS},
    {"Neighbor_allgatherv", PATH_COLLECTIVE, PATH_TO_NEIGHBORS},
    {"Neighbor_alltoall", PATH_COLLECTIVE, PATH_TO_NEIGHBORS},
    {"Neighbor_alltoallv", PATH_COLLECTIVE, PATH_TO_NEIGHBORS},
    {"Neighbor_alltoallw", PATH_COLLECTIVE, PATH_TO_NEIGHBORS},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Whether `name` is `wanted`, which may be followed by `suffix`. */
static bool is_named(const char *name, size_t length, const char *wanted, const char *suffix)
{
    const size_t first = strlen(wanted), second = strlen(suffix);
    return length == first + second && !strncmp(name, wanted, first) &&
           !strncmp(name + first, suffix, second);
}

static bool is_variant(const char *name, size_t length, const char *wanted)
{
    char immediate[64] = "I";
    strncat(immediate, wanted, sizeof immediate - 2);
    immediate[1] = (char)tolower((unsigned char)immediate[1]);
    return is_named(name, length, wanted, "") || is_named(name, length, wanted, "_init") ||
           is_named(name, length, immediate, "");
}

static const struct named *find_named(const char *name)
{
    size_t length = strlen(name);
    if (length > 2 && !strcmp(name + length - 2, "_c"))
        length -= 2;
    for (size_t i = 0; i < COUNT(exact); i++) {
        if (is_named(name, length, exact[i].name, ""))
            return &exact[i];
    }
    for (size_t i = 0; i < COUNT(collectives); i++) {
        if (is_variant(name, length, collectives[i].name))
            return &collectives[i];
    }
    return NULL;
}

static signed char find_argument(const QMPIX_Function *function, const char *name)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (!strcmp(function->parameters[i].name, name))
            return (signed char)i;
    }
    return -1;
}

static signed char find_either(const QMPIX_Function *function, const char *name, const char *other)
{
    const signed char found = find_argument(function, name);
    return found >= 0 ? found : find_argument(function, other);
}

static signed char find_kind(const QMPIX_Function *function, QMPIX_Kind kind, int indirection)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (function->parameters[i].kind == kind &&
            function->parameters[i].indirection == indirection)
            return (signed char)i;
    }
    return -1;
}

static bool ends_with_init(const char *name)
{
    return strstr(name, "_init") != NULL;
}

static void describe(struct path_role *role, const QMPIX_Function *function,
                     const struct named *named)
{
    *role = (struct path_role){
        .event = (unsigned char)named->event,
        .direction = (unsigned char)named->direction,
        .is_persistent = ends_with_init(function->name),
        .dest = find_argument(function, "dest"),
        .send_tag = find_either(function, "sendtag", "tag"),
        .source = find_argument(function, "source"),
        .receive_tag = find_either(function, "recvtag", "tag"),
        .comm = find_kind(function, QMPIX_KIND_COMM, 0),
        .root = find_argument(function, "root"),
        .request = find_kind(function, QMPIX_KIND_REQUEST, 1),
        .flag = find_argument(function, "flag"),
        .status = find_kind(function, QMPIX_KIND_STATUS, 1),
        .created = find_kind(function, QMPIX_KIND_COMM, 1),
        .window = find_kind(function, QMPIX_KIND_WIN, named->event == PATH_FENCE ? 0 : 1),
        .assertion = find_argument(function, "assert"),
    };
}

void path_roles_find(void)
{
    static bool found;
    if (found)
        return;
    found = true;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) != MPI_SUCCESS ||
            strncmp(function->name, "MPI_", 4) != 0)
            continue;
        const struct named *named = find_named(function->name + 4);
        if (named)
            describe(&path_roles[number], function, named);
    }
}
