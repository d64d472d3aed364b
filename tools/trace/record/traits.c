/* SPDX-License-Identifier: MIT */
/* See traits.h. */
#include "tools/trace/record/traits.h"

#include <string.h>

struct traits traits_all[MPI_LAST_FUNC];

/* Returns the index of an argument if it is passed by value, and -1 otherwise. */
static signed char value_of_role(const QMPIX_Function *function, int argument)
{
    return (signed char)(argument >= 0 && !function->parameters[argument].indirection ? argument
                                                                                      : -1);
}

static signed char first_of(int one, int other)
{
    return (signed char)(one >= 0 ? one : other);
}

static enum trait_action choose_action(const QMPIX_Traits *traits)
{
    const bool is_persistent = traits->flags & QMPIX_TRAIT_PERSISTENT;
    const bool is_nonblocking = traits->flags & QMPIX_TRAIT_NONBLOCKING;
    switch (traits->role) {
    case QMPIX_ROLE_INIT:
    case QMPIX_ROLE_FINALIZE:
    case QMPIX_ROLE_SESSION_INIT:
    case QMPIX_ROLE_SESSION_FINALIZE:
    case QMPIX_ROLE_PCONTROL:
    case QMPIX_ROLE_ABORT:
        return DOES_CONTROL;
    case QMPIX_ROLE_SEND:
        return is_persistent ? DOES_INIT_MESSAGE : is_nonblocking ? DOES_POST : DOES_SEND;
    case QMPIX_ROLE_RECEIVE:
        return is_persistent ? DOES_INIT_MESSAGE : is_nonblocking ? DOES_POST : DOES_RECEIVE;
    case QMPIX_ROLE_SENDRECV:
        return is_nonblocking ? DOES_POST : DOES_TRANSFER;
    case QMPIX_ROLE_MATCHED_PROBE:
        return DOES_MATCH;
    case QMPIX_ROLE_MATCHED_RECEIVE:
        return is_nonblocking ? DOES_POST_MATCHED : DOES_RECEIVE_MATCHED;
    case QMPIX_ROLE_START:
        return DOES_START;
    case QMPIX_ROLE_COMPLETE:
        return DOES_COMPLETE;
    case QMPIX_ROLE_REQUEST_FREE:
        return DOES_FREE_REQUEST;
    case QMPIX_ROLE_CANCEL:
        return DOES_CANCEL;
    case QMPIX_ROLE_COLLECTIVE:
        return is_persistent    ? DOES_INIT_OTHER
               : is_nonblocking ? DOES_POST_COLLECTIVE
                                : DOES_COLLECTIVE;
    case QMPIX_ROLE_ACCESS:
        return DOES_RMA;
    case QMPIX_ROLE_FILE_ACCESS:
    case QMPIX_ROLE_FILE_BEGIN:
        return is_nonblocking ? DOES_POST_IO : DOES_IO;
    case QMPIX_ROLE_COMM_CREATE:
        return is_nonblocking ? DOES_COPY_COMM : DOES_CREATE_COMM;
    case QMPIX_ROLE_COMM_FREE:
        return DOES_FREE_COMM;
    case QMPIX_ROLE_COMM_NAME:
        return DOES_NAME_COMM;
    case QMPIX_ROLE_WIN_CREATE:
        return DOES_CREATE_WIN;
    case QMPIX_ROLE_WIN_FREE:
        return DOES_FREE_WIN;
    case QMPIX_ROLE_WIN_NAME:
        return DOES_NAME_WIN;
    case QMPIX_ROLE_FILE_OPEN:
        return DOES_OPEN_FILE;
    case QMPIX_ROLE_FILE_CLOSE:
        return DOES_CLOSE_FILE;
    default:
        return DOES_NOTHING;
    }
}

/* Returns whether calls of the function record their communicator in an event of its own. Calls
 * that only query or change a communicator do not, because some programs make many of them. */
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

/* Returns whether the arguments are at the positions MESSAGE_…, and the count is an int. */
static bool is_simple_message(const QMPIX_Function *function)
{
    const QMPIX_Parameter *parameters = function->parameters;
    return function->parameter_count > MESSAGE_COMM &&
           !strcmp(parameters[MESSAGE_COUNT].name, "count") &&
           parameters[MESSAGE_COUNT].kind == QMPIX_KIND_INT &&
           parameters[MESSAGE_TYPE].kind == QMPIX_KIND_DATATYPE &&
           parameters[MESSAGE_PEER].kind == QMPIX_KIND_INT &&
           parameters[MESSAGE_TAG].kind == QMPIX_KIND_INT &&
           parameters[MESSAGE_COMM].kind == QMPIX_KIND_COMM;
}

static void derive_traits(struct traits *traits, const QMPIX_Function *function)
{
    QMPIX_Traits known = {.size = sizeof known};
    QMPIX_Function_get_traits(function, &known);
    *traits = (struct traits){
        .action = (unsigned char)choose_action(&known),
        .completion = pending_describe_completion(&known),
        .has_error = known.flags & QMPIX_TRAIT_ERROR,
        .comm = value_of_role(function, known.comm),
        .created = (signed char)known.created,
        .window = value_of_role(function, known.window),
        .file = value_of_role(function, known.file),
        .request = (signed char)known.request,
        .requests = (signed char)known.requests,
        .message = (signed char)known.message,
        .flag = (signed char)known.flag,
        .peer = first_of(known.destination, known.source),
        .tag = first_of(known.send_tag, known.receive_tag),
        .partitions = (signed char)known.partitions,
        .elements = first_of(known.send_count, known.receive_count),
        .type = first_of(known.send_type, known.receive_type),
        .sends = known.role == QMPIX_ROLE_SEND,
        .transfers_both_ways = known.role == QMPIX_ROLE_SENDRECV,
        .is_simple = is_simple_message(function),
        .is_get = known.access == QMPIX_ACCESS_GET,
        .is_atomic = known.access == QMPIX_ACCESS_ACCUMULATE ||
                     known.access == QMPIX_ACCESS_FETCH ||
                     known.access == QMPIX_ACCESS_COMPARE_AND_SWAP,
        .reads = known.access == QMPIX_ACCESS_READ,
    };
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
            derive_traits(&traits_all[number], function);
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

bool traits_have_begin_events(const struct traits *traits)
{
    switch (traits->action) {
    case DOES_SEND:
    case DOES_TRANSFER:
    case DOES_COLLECTIVE:
        return true;
    case DOES_RMA:
        return traits->request < 0;
    default:
        return traits->tells_comm || traits->tells_file;
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
