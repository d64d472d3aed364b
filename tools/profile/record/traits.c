/* SPDX-License-Identifier: MIT */
/* See traits.h. */
#include "tools/profile/record/traits.h"

struct traits traits_all[MPI_LAST_FUNC];

/* Returns the index of an argument if it exists and is passed by value, otherwise -1. */
static signed char value_of_role(const QMPIX_Function *function, int argument)
{
    return (signed char)(argument >= 0 && !function->parameters[argument].indirection ? argument
                                                                                      : -1);
}

static bool is_blocking(const QMPIX_Traits *known)
{
    return !(known->flags & (QMPIX_TRAIT_NONBLOCKING | QMPIX_TRAIT_PERSISTENT));
}

static enum traits_receives find_receives(const QMPIX_Traits *known)
{
    switch (known->role) {
    case QMPIX_ROLE_RECEIVE:
    case QMPIX_ROLE_MATCHED_RECEIVE:
    case QMPIX_ROLE_SENDRECV:
        return known->flags & QMPIX_TRAIT_PERSISTENT    ? RECEIVES_MAKES
               : known->flags & QMPIX_TRAIT_NONBLOCKING ? RECEIVES_POSTS
                                                        : RECEIVES_NOTHING;
    case QMPIX_ROLE_FILE_ACCESS:
        return known->access == QMPIX_ACCESS_READ && known->flags & QMPIX_TRAIT_NONBLOCKING
                   ? RECEIVES_READS
                   : RECEIVES_NOTHING;
    case QMPIX_ROLE_START:
        return RECEIVES_STARTS;
    case QMPIX_ROLE_COMPLETE:
        return RECEIVES_COMPLETES;
    case QMPIX_ROLE_REQUEST_FREE:
        return RECEIVES_FREES;
    default:
        return RECEIVES_NOTHING;
    }
}

/* Buffered, ready and partitioned sends are not followed, nor are blocking ones. */
static enum traits_sends find_sends(const QMPIX_Traits *known)
{
    const unsigned others = QMPIX_TRAIT_BUFFERED | QMPIX_TRAIT_READY | QMPIX_TRAIT_PARTITIONED;
    if (known->role != QMPIX_ROLE_SEND || known->flags & others || is_blocking(known))
        return SENDS_NOTHING;
    if (known->flags & QMPIX_TRAIT_PERSISTENT)
        return SENDS_WHEN_STARTED;
    return known->flags & QMPIX_TRAIT_SYNCHRONOUS ? SENDS_SYNCHRONOUSLY : SENDS_IMMEDIATELY;
}

/* Returns the index of the argument that points to the created communicator. Returns -1 if the
 * function creates none, or if the communicator exists only when another call has completed the
 * request. */
static signed char find_created(const QMPIX_Traits *known)
{
    const bool creates = known->role == QMPIX_ROLE_COMM_CREATE && is_blocking(known);
    return (signed char)(creates ? known->created : -1);
}

static struct traits_awaited find_awaited(const QMPIX_Traits *known)
{
    switch (known->role) {
    case QMPIX_ROLE_SEND:
    case QMPIX_ROLE_RECEIVE:
    case QMPIX_ROLE_SENDRECV:
    case QMPIX_ROLE_PROBE:
    case QMPIX_ROLE_MATCHED_PROBE:
    case QMPIX_ROLE_MATCHED_RECEIVE:
        if (is_blocking(known))
            return (struct traits_awaited){(signed char)known->source,
                                           (signed char)known->destination,
                                           (signed char)known->status};
        break;
    default:
        break;
    }
    return (struct traits_awaited){-1, -1, -1};
}

/* Returns whether control_before and control_after (record.c) handle the function. */
static bool is_controlled(enum QMPI_Functions_enum number, QMPIX_Role role, int created)
{
    if (created >= 0)
        return true;
    switch (role) {
    case QMPIX_ROLE_INIT:
    case QMPIX_ROLE_FINALIZE:
    case QMPIX_ROLE_SESSION_INIT:
    case QMPIX_ROLE_SESSION_FINALIZE:
    case QMPIX_ROLE_ABORT:
    case QMPIX_ROLE_PCONTROL:
    case QMPIX_ROLE_COMM_FREE:
    case QMPIX_ROLE_COMM_NAME:
    case QMPIX_ROLE_FILE_OPEN:
    case QMPIX_ROLE_FILE_CLOSE:
        return true;
    default:
        return number == MPI_COMM_CREATE_FROM_GROUP_T;
    }
}

static bool has_message_arguments(const QMPIX_Function *function)
{
    const QMPIX_Parameter *parameters = function->parameters;
    return function->parameter_count > MESSAGE_COMM &&
           parameters[MESSAGE_COUNT].kind == QMPIX_KIND_INT &&
           parameters[MESSAGE_TYPE].kind == QMPIX_KIND_DATATYPE &&
           parameters[MESSAGE_COMM].kind == QMPIX_KIND_COMM;
}

/* Persistent sends are excluded, because MPI_Start sends their messages. */
static bool find_message_end(const QMPIX_Function *function, const QMPIX_Traits *traits,
                             enum traits_end *end)
{
    const bool is_nonblocking = traits->flags & QMPIX_TRAIT_NONBLOCKING;
    if (!has_message_arguments(function) || traits->flags & QMPIX_TRAIT_PERSISTENT)
        return false;
    if (traits->role == QMPIX_ROLE_SEND && traits->send_count == MESSAGE_COUNT &&
        traits->destination == MESSAGE_PEER)
        *end = ENDS_SENDING;
    else if (traits->role == QMPIX_ROLE_RECEIVE && !is_nonblocking &&
             traits->receive_count == MESSAGE_COUNT && traits->source == MESSAGE_PEER &&
             traits->status == MESSAGE_STATUS)
        *end = ENDS_RECEIVING;
    else
        return false;
    return true;
}

static void describe_end(struct traits *traits, const QMPIX_Function *function,
                         const QMPIX_Traits *known)
{
    enum traits_end end = ENDS_PLAINLY;
    const bool carries = traits_carry(traits) && !find_message_end(function, known, &end);
    traits->end = (unsigned char)end;
    traits->ends_usually =
        !traits->is_controlled && !carries && traits->file < 0 && !traits->polls &&
        (traits->receives == RECEIVES_NOTHING || traits->receives == RECEIVES_FREES);
}

static void derive_traits(struct traits *traits, const QMPIX_Function *function)
{
    QMPIX_Traits known = {.size = sizeof known};
    QMPIX_Function_get_traits(function, &known);
    traits->receives = (unsigned char)find_receives(&known);
    traits->sends = (unsigned char)find_sends(&known);
    traits->completion = pending_describe_completion(&known);
    const bool completes = traits->receives == RECEIVES_COMPLETES;
    const bool starts = traits->receives == RECEIVES_STARTS;
    traits->request = (signed char)known.request;
    traits->requests = (signed char)known.requests;
    traits->partitions = (signed char)known.partitions;
    traits->count = (signed char)known.receive_count;
    traits->type = (signed char)known.receive_type;
    traits->sends_too = known.role == QMPIX_ROLE_SENDRECV;
    traits->source =
        (signed char)(traits->receives == RECEIVES_POSTS && known.destination < 0 ? known.source
                                                                                  : -1);
    const bool receives = traits->receives == RECEIVES_POSTS || traits->receives == RECEIVES_MAKES;
    traits->receive_source = (signed char)(receives ? known.source : -1);
    traits->receive_tag = (signed char)(receives ? known.receive_tag : -1);
    traits->reads_peer = function->group == QMPIX_GROUP_ONE_SIDED;
    traits->has_transfers =
        starts || traits->reads_peer || function->group == QMPIX_GROUP_POINT_TO_POINT;
    traits->has_bytes =
        starts || function->group == QMPIX_GROUP_COLLECTIVE || function->group == QMPIX_GROUP_IO;
    traits->comm = value_of_role(function, known.comm);
    traits->file = value_of_role(function, known.file);
    traits->has_known_comm =
        starts || (traits->comm < 0 && known.role == QMPIX_ROLE_MATCHED_RECEIVE);
    traits->waits = known.role == QMPIX_ROLE_COLLECTIVE &&
                    known.collective != QMPIX_COLLECTIVE_BARRIER && is_blocking(&known);
    traits->has_error = known.flags & QMPIX_TRAIT_ERROR;
    traits->created = find_created(&known);
    traits->is_controlled = is_controlled(function->number, known.role, traits->created);
    traits->begins_simply =
        !traits->is_controlled && !completes && traits->receives != RECEIVES_FREES;
    traits->awaited = find_awaited(&known);
    traits->polls = known.flags & QMPIX_TRAIT_POLLS;
    traits->flag = (signed char)(!traits->polls    ? -1
                                 : known.flag >= 0 ? known.flag
                                                   : known.outcount);
    describe_end(traits, function, &known);
}

void traits_find(void)
{
    static bool found;
    if (found)
        return;
    found = true;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        traits_all[number].comm = traits_all[number].file = traits_all[number].created = -1;
        traits_all[number].receive_source = traits_all[number].receive_tag = -1;
        traits_all[number].source = traits_all[number].flag = -1;
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS)
            derive_traits(&traits_all[number], function);
    }
}

void traits_let_wait(void)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++)
        traits_all[number].begins_simply &= !traits_all[number].waits;
}
