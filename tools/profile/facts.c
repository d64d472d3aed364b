/* SPDX-License-Identifier: MIT */
/* See facts.h. */
#include "facts.h"

#include "receives.h"
#include "steer.h"

struct facts facts_all[MPI_LAST_FUNC];

/* The first argument of a kind that is given by value; -1: none. */
static signed char find(const QMPIX_Function *function, QMPIX_Kind kind)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (function->parameters[i].kind == kind && !function->parameters[i].indirection)
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

static void describe(struct facts *facts, const QMPIX_Function *function)
{
    const enum QMPI_Functions_enum number = function->number;
    facts->starts = number == MPI_START_T || number == MPI_STARTALL_T;
    facts->reads_peer = function->group == QMPIX_GROUP_ONE_SIDED;
    facts->has_transfers =
        facts->starts || facts->reads_peer || function->group == QMPIX_GROUP_POINT_TO_POINT;
    facts->has_bytes = facts->starts || function->group == QMPIX_GROUP_COLLECTIVE ||
                       function->group == QMPIX_GROUP_IO;
    facts->comm = find(function, QMPIX_KIND_COMM);
    facts->file = find(function, QMPIX_KIND_FILE);
    facts->waits = function->group == QMPIX_GROUP_COLLECTIVE && facts->comm >= 0 &&
                   number != MPI_BARRIER_T && !takes(function, QMPIX_KIND_REQUEST);
    facts->has_error = function->result == QMPIX_KIND_INT;
    facts->is_steered = steer_concerns(number);
    facts->receives = (unsigned char)receives_role(function);
}

void facts_find(void)
{
    static bool found;
    if (found)
        return;
    found = true;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        facts_all[number].comm = facts_all[number].file = -1;
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS)
            describe(&facts_all[number], function);
    }
}
