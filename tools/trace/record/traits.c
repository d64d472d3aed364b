/* SPDX-License-Identifier: MIT */
/* See traits.h. */
#include "record/traits.h"

#include "toolkit/toolkit.h"

#include <string.h>

struct traits traits_all[MPI_LAST_FUNC];

static signed char find_named(const QMPIX_Function *function, const char *name)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (!strcmp(function->parameters[i].name, name))
            return (signed char)i;
    }
    return -1;
}

/* The first parameter of a kind that is given by value (0) or by address (1); -1: none. */
static signed char find(const QMPIX_Function *function, QMPIX_Kind kind, int indirection)
{
    for (int i = 0; i < function->parameter_count; i++) {
        const QMPIX_Parameter *parameter = &function->parameters[i];
        if (parameter->kind == kind && parameter->indirection == indirection)
            return (signed char)i;
    }
    return -1;
}

static signed char find_either(const QMPIX_Function *function, const char *one, const char *other)
{
    const signed char found = find_named(function, one);
    return found >= 0 ? found : find_named(function, other);
}

/* Names without `_c`. */
static bool is_named(const QMPIX_Function *function, const char *name)
{
    const size_t length = strlen(name);
    return !strncmp(function->name, name, length) &&
           (!function->name[length] || !strcmp(function->name + length, "_c"));
}

static bool is_among(const QMPIX_Function *function, const char *const *names)
{
    while (*names && !is_named(function, *names))
        names++;
    return *names != NULL;
}

static bool is_init(const QMPIX_Function *function)
{
    const char *end = strstr(function->name, "_init");
    return end && (!end[5] || !strcmp(end + 5, "_c"));
}

static enum trait_action message_action(const QMPIX_Function *function)
{
    static const char *const sends[] = {"MPI_Send", "MPI_Bsend", "MPI_Rsend", "MPI_Ssend", NULL};
    static const char *const others[] = {"MPI_Sendrecv", "MPI_Sendrecv_replace", NULL};
    static const char *const posts[] = {"MPI_Isend",
                                        "MPI_Ibsend",
                                        "MPI_Irsend",
                                        "MPI_Issend",
                                        "MPI_Irecv",
                                        "MPI_Isendrecv",
                                        "MPI_Isendrecv_replace",
                                        NULL};
    if (is_among(function, sends))
        return DOES_SEND;
    if (is_named(function, "MPI_Recv"))
        return DOES_RECEIVE;
    if (is_among(function, others))
        return DOES_TRANSFER;
    if (is_among(function, posts))
        return DOES_POST;
    if (is_init(function))
        return DOES_INIT_MESSAGE;
    if (is_named(function, "MPI_Mrecv"))
        return DOES_RECEIVE_MATCHED;
    if (is_named(function, "MPI_Imrecv"))
        return DOES_POST_MATCHED;
    if (is_named(function, "MPI_Mprobe") || is_named(function, "MPI_Improbe"))
        return DOES_MATCH;
    return is_named(function, "MPI_Cancel") ? DOES_CANCEL : DOES_NOTHING;
}

static enum trait_action completion_action(const QMPIX_Function *function)
{
    static const char *const completes[] = {"MPI_Wait",     "MPI_Test",     "MPI_Waitany",
                                            "MPI_Testany",  "MPI_Waitall",  "MPI_Testall",
                                            "MPI_Waitsome", "MPI_Testsome", NULL};
    static const char *const starts[] = {"MPI_Start", "MPI_Startall", NULL};
    if (is_among(function, completes))
        return DOES_COMPLETE;
    if (is_among(function, starts))
        return DOES_START;
    if (is_named(function, "MPI_Cancel"))
        return DOES_CANCEL;
    return is_named(function, "MPI_Request_free") ? DOES_FREE_REQUEST : DOES_NOTHING;
}

static enum trait_action collective_action(const QMPIX_Function *function,
                                           const struct traits *traits)
{
    if (traits->comm < 0)
        return DOES_NOTHING; /* MPI_Reduce_local */
    if (traits->request < 0)
        return DOES_COLLECTIVE;
    return is_init(function) ? DOES_INIT_OTHER : DOES_POST_COLLECTIVE;
}

static enum trait_action one_sided_action(const QMPIX_Function *function,
                                          const struct traits *traits)
{
    if (traits->created >= 0)
        return DOES_CREATE_WIN;
    if (is_named(function, "MPI_Win_free"))
        return DOES_FREE_WIN;
    if (is_named(function, "MPI_Win_set_name"))
        return DOES_NAME_WIN;
    return find_named(function, "target_rank") >= 0 ? DOES_RMA : DOES_NOTHING;
}

static enum trait_action io_action(const QMPIX_Function *function, const struct traits *traits)
{
    if (is_named(function, "MPI_File_open"))
        return DOES_OPEN_FILE;
    if (is_named(function, "MPI_File_close"))
        return DOES_CLOSE_FILE;
    const bool moves = strstr(function->name, "read") || strstr(function->name, "write");
    /* Of an access that is split in two, the arguments of the first call tell the bytes. */
    if (!moves || traits->file < 0 || strstr(function->name, "_end"))
        return DOES_NOTHING;
    return traits->request < 0 ? DOES_IO : DOES_POST_IO;
}

static enum trait_action comm_action(const QMPIX_Function *function, const struct traits *traits)
{
    static const char *const frees[] = {"MPI_Comm_free", "MPI_Comm_disconnect", NULL};
    if (is_among(function, frees))
        return DOES_FREE_COMM;
    if (is_named(function, "MPI_Comm_set_name"))
        return DOES_NAME_COMM;
    if (traits->created < 0 || is_named(function, "MPI_Comm_get_parent"))
        return DOES_NOTHING;
    return traits->request < 0 ? DOES_CREATE_COMM : DOES_COPY_COMM;
}

static enum trait_action action_of(const QMPIX_Function *function, const struct traits *traits)
{
    static const char *const controls[] = {"MPI_Init",
                                           "MPI_Init_thread",
                                           "MPI_Finalize",
                                           "MPI_Session_init",
                                           "MPI_Session_finalize",
                                           "MPI_Pcontrol",
                                           "MPI_Abort",
                                           NULL};
    if (is_among(function, controls))
        return DOES_CONTROL;
    switch (function->group) {
    case QMPIX_GROUP_POINT_TO_POINT:
        return message_action(function);
    case QMPIX_GROUP_COMPLETION:
        return completion_action(function);
    case QMPIX_GROUP_COLLECTIVE:
        return collective_action(function, traits);
    case QMPIX_GROUP_ONE_SIDED:
        return one_sided_action(function, traits);
    case QMPIX_GROUP_IO:
        return io_action(function, traits);
    case QMPIX_GROUP_COMMUNICATOR:
    case QMPIX_GROUP_TOPOLOGY:
    case QMPIX_GROUP_PROCESS:
        return comm_action(function, traits);
    default:
        return DOES_NOTHING;
    }
}

static signed char find_created(const QMPIX_Function *function)
{
    const QMPIX_Kind kind =
        function->group == QMPIX_GROUP_ONE_SIDED ? QMPIX_KIND_WIN : QMPIX_KIND_COMM;
    const signed char found = find(function, kind, 1);
    return found >= 0 && !function->parameters[found].is_const &&
                   !strstr(function->name, "_free") && !strstr(function->name, "disconnect")
               ? found
               : -1;
}

/* Of functions that only ask for what a communicator has, or set it, it is not told: most calls of
 * some programs are such. */
static bool tells_comm(const struct traits *traits, unsigned group)
{
    switch (traits->action) {
    case DOES_NOTHING:
        return traits->comm >= 0 && group == QMPIX_GROUP_POINT_TO_POINT;
    case DOES_INIT_MESSAGE:
    case DOES_INIT_OTHER:
    case DOES_MATCH:
    case DOES_CREATE_COMM:
    case DOES_COPY_COMM:
    case DOES_CREATE_WIN:
    case DOES_OPEN_FILE:
        return traits->comm >= 0;
    default:
        return false;
    }
}

static void describe(struct traits *traits, const QMPIX_Function *function)
{
    traits->has_error = function->result == QMPIX_KIND_INT;
    traits->comm = find(function, QMPIX_KIND_COMM, 0);
    traits->window = find(function, QMPIX_KIND_WIN, 0);
    traits->file = find(function, QMPIX_KIND_FILE, 0);
    traits->request = find(function, QMPIX_KIND_REQUEST, 1);
    traits->count = find_either(function, "count", "incount");
    traits->status = find_named(function, "status");
    traits->message = find(function, QMPIX_KIND_MESSAGE, 1);
    traits->flag = find_named(function, "flag");
    traits->created = find_created(function);
    traits->peer = find_either(function, "dest", "source");
    traits->tag = find_named(function, "tag");
    traits->partitions = find_named(function, "partitions");
    traits->elements = find_named(function, "count");
    traits->type = find(function, QMPIX_KIND_DATATYPE, 0);
    traits->sends = find_named(function, "dest") >= 0;
    traits->is_get = is_named(function, "MPI_Get") || is_named(function, "MPI_Rget");
    traits->reads = strstr(function->name, "read") != NULL;
    traits->is_atomic = strstr(function->name, "ccumulate") || strstr(function->name, "_op") ||
                        strstr(function->name, "Compare");
    traits->completion = (unsigned char)completions_find(function);
    traits->action = (unsigned char)action_of(function, traits);
    traits->tells_comm = tells_comm(traits, function->group);
    traits->tells_file = traits->action == DOES_NOTHING && traits->file >= 0;
}

void traits_find(void)
{
    static bool found;
    if (found)
        return;
    found = true;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS)
            describe(&traits_all[number], function);
    }
}

bool traits_are_controlled(const struct traits *traits)
{
    return traits->action == DOES_CONTROL;
}

bool traits_have_messages(const struct traits *traits)
{
    switch (traits->action) {
    case DOES_SEND:
    case DOES_RECEIVE:
    case DOES_TRANSFER:
    case DOES_RECEIVE_MATCHED:
    case DOES_POST_MATCHED:
    case DOES_POST:
    case DOES_START:
    case DOES_COMPLETE:
        return true;
    default:
        return false;
    }
}

bool traits_are_followed(const struct traits *traits)
{
    switch (traits->action) {
    case DOES_NOTHING:
    case DOES_SEND:
    case DOES_RECEIVE:
    case DOES_TRANSFER:
    case DOES_COLLECTIVE:
    case DOES_RMA:
    case DOES_IO:
        return false;
    default:
        return true;
    }
}
