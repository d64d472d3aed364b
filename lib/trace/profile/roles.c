/* SPDX-License-Identifier: MIT */
/* See roles.h. */
#define _GNU_SOURCE
#include "trace/profile/roles.h"

#include <string.h>

/* Whether a name, without MPI_ and _c, is one of those in a list that spaces separate. */
static bool is_one_of(const char *name, const char *list)
{
    size_t length = strlen(name);
    if (length > 2 && !strcmp(name + length - 2, "_c"))
        length -= 2;
    for (const char *word = list; *word; word += strspn(word, " ")) {
        const size_t size = strcspn(word, " ");
        if (size == length && !strncmp(word, name, size))
            return true;
        word += size;
    }
    return false;
}

struct role role_find(const struct trace_function *function)
{
    const char *line = strchr(function->name, '_'), *name = line ? line + 1 : function->name;
    const bool is_message = !strcmp(function->group, "point-to-point");
    struct role role = {
        .begins_mpi = is_one_of(name, "Init Init_thread"),
        .ends_mpi = is_one_of(name, "Finalize"),
        .aborts = is_one_of(name, "Abort"),
        .begins_session = is_one_of(name, "Session_init"),
        .ends_session = is_one_of(name, "Session_finalize"),
        .controls = is_one_of(name, "Pcontrol"),
        .posts = is_one_of(name, "Irecv Imrecv"),
        .starts = is_one_of(name, "Start Startall"),
        .is_one_sided = !strcmp(function->group, "one-sided"),
        .polls = is_one_of(name, "Iprobe Improbe Test Testany Testall Parrived"),
        .completes = is_one_of(name, "Wait Waitany Waitall Waitsome Test Testany Testall Testsome"),
        .may_wait = is_one_of(name, "Send Bsend Ssend Rsend Recv Sendrecv Sendrecv_replace "
                                    "Probe Mprobe"),
        .sends_synchronously = is_one_of(name, "Issend"),
        .fetches = strcasestr(name, "get_accumulate") || strcasestr(name, "fetch_and_op") ||
                   strcasestr(name, "compare_and_swap"),
        .frees_comm = is_one_of(name, "Comm_free Comm_disconnect"),
    };
    role.has_comm = !is_one_of(name, "Mrecv Imrecv") && !role.completes;
    role.has_transfers = role.starts || role.is_one_sided || is_message;
    role.has_bytes =
        role.starts || !strcmp(function->group, "collective") || !strcmp(function->group, "I/O");
    return role;
}
