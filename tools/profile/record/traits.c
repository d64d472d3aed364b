/* SPDX-License-Identifier: MIT */
/* See traits.h. */
#include "record/traits.h"

#include "record/message.h"
#include "record/receives.h"
#include "toolkit/toolkit.h"

#include <string.h>

struct traits traits_all[MPI_LAST_FUNC];

/* The first argument of a kind that is given by value; -1: none. */
static signed char find(const QMPIX_Function *function, QMPIX_Kind kind)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (function->parameters[i].kind == kind && !function->parameters[i].indirection)
            return (signed char)i;
    }
    return -1;
}

static signed char find_named(const QMPIX_Function *function, const char *name)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (!strcmp(function->parameters[i].name, name))
            return (signed char)i;
    }
    return -1;
}

static bool takes(const QMPIX_Function *function, QMPIX_Kind kind)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (function->parameters[i].kind == kind)
            return true;
    }
    return false;
}

static enum sends_role find_sends(const QMPIX_Function *function)
{
    static const struct {
        const char *name;
        enum sends_role role;
    } roles[] = {
        {"MPI_Isend", SENDS_IMMEDIATELY},
        {"MPI_Issend", SENDS_SYNCHRONOUSLY},
        {"MPI_Send_init", SENDS_WHEN_STARTED},
        {"MPI_Ssend_init", SENDS_WHEN_STARTED},
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const size_t length = strlen(roles[i].name);
        if (!strncmp(function->name, roles[i].name, length) &&
            (!function->name[length] || !strcmp(function->name + length, "_c")))
            return roles[i].role;
    }
    return SENDS_NOTHING;
}

static void describe_receives(struct traits *traits, const QMPIX_Function *function)
{
    traits->receives = (unsigned char)receives_role(function);
    traits->sends = (unsigned char)find_sends(function);
    traits->completion = (unsigned char)completions_find(function);
    traits->source = traits->receives == RECEIVES_POSTS ? find_named(function, "source") : -1;
}

static struct awaited find_awaited(const QMPIX_Function *function)
{
    if (function->group != QMPIX_GROUP_POINT_TO_POINT || takes(function, QMPIX_KIND_REQUEST))
        return (struct awaited){-1, -1, -1};
    return (struct awaited){find_named(function, "source"), find_named(function, "dest"),
                            find_named(function, "status")};
}

/* What control.h follows. */
static bool is_controlled(enum QMPI_Functions_enum number)
{
    switch (number) {
    case MPI_INIT_T:
    case MPI_INIT_THREAD_T:
    case MPI_FINALIZE_T:
    case MPI_SESSION_INIT_T:
    case MPI_SESSION_FINALIZE_T:
    case MPI_ABORT_T:
    case MPI_PCONTROL_T:
    case MPI_COMM_FREE_T:
    case MPI_COMM_DISCONNECT_T:
    case MPI_COMM_SET_NAME_T:
    case MPI_COMM_CREATE_FROM_GROUP_T:
    case MPI_FILE_OPEN_T:
    case MPI_FILE_CLOSE_T:
        return true;
    default:
        return false;
    }
}

static void describe_end(struct traits *traits, const QMPIX_Function *function)
{
    enum site_end end = SITE_ENDS_PLAINLY;
    const bool carries = traits_carry(traits) && !message_end(function, &end);
    traits->end = (unsigned char)end;
    traits->ends_usually =
        !traits->is_controlled && !carries && traits->file < 0 &&
        (traits->receives == RECEIVES_NOTHING || traits->receives == RECEIVES_FREES);
}

static void describe(struct traits *traits, const QMPIX_Function *function)
{
    const enum QMPI_Functions_enum number = function->number;
    describe_receives(traits, function);
    const bool completes = traits->receives == RECEIVES_COMPLETES;
    const bool starts = traits->receives == RECEIVES_STARTS;
    traits->reads_peer = function->group == QMPIX_GROUP_ONE_SIDED;
    traits->has_transfers =
        starts || traits->reads_peer || function->group == QMPIX_GROUP_POINT_TO_POINT;
    traits->has_bytes =
        starts || function->group == QMPIX_GROUP_COLLECTIVE || function->group == QMPIX_GROUP_IO;
    traits->comm = find(function, QMPIX_KIND_COMM);
    traits->file = find(function, QMPIX_KIND_FILE);
    traits->waits = function->group == QMPIX_GROUP_COLLECTIVE && traits->comm >= 0 &&
                    number != MPI_BARRIER_T && !takes(function, QMPIX_KIND_REQUEST);
    traits->has_error = function->result == QMPIX_KIND_INT;
    traits->is_controlled = is_controlled(number);
    traits->begins_simply =
        !traits->is_controlled && !completes && traits->receives != RECEIVES_FREES;
    traits->awaited = find_awaited(function);
    traits->polls = (completes || function->group == QMPIX_GROUP_POINT_TO_POINT) &&
                    find_named(function, "flag") >= 0;
    describe_end(traits, function);
}

void traits_find(void)
{
    static bool found;
    if (found)
        return;
    found = true;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        traits_all[number].comm = traits_all[number].file = traits_all[number].source = -1;
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS)
            describe(&traits_all[number], function);
    }
}

void traits_let_wait(void)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++)
        traits_all[number].begins_simply &= !traits_all[number].waits;
}
