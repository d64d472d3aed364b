/* SPDX-License-Identifier: MIT */
/* See facts.h. */
#include "facts.h"

#include "receives.h"
#include "steer.h"

#include <string.h>

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

static signed char find_source(const QMPIX_Function *function)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (!strcmp(function->parameters[i].name, "source"))
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

/* Not the persistent ones: MPI_Start is what sends. */
static bool sends_plainly(const QMPIX_Function *function)
{
    const QMPIX_Parameter *parameters = function->parameters;
    return function->group == QMPIX_GROUP_POINT_TO_POINT && !strstr(function->name, "_init") &&
           function->parameter_count > SEND_COMM && !strcmp(parameters[SEND_COUNT].name, "count") &&
           parameters[SEND_TYPE].kind == QMPIX_KIND_DATATYPE &&
           !strcmp(parameters[SEND_DEST].name, "dest") &&
           parameters[SEND_COMM].kind == QMPIX_KIND_COMM;
}

static void describe_receives(struct facts *facts, const QMPIX_Function *function)
{
    facts->receives = (unsigned char)receives_role(function);
    facts->completion = (unsigned char)receives_completion(function);
    facts->source = facts->receives == RECEIVES_POSTS ? find_source(function) : -1;
}

static void describe(struct facts *facts, const QMPIX_Function *function)
{
    const enum QMPI_Functions_enum number = function->number;
    describe_receives(facts, function);
    const bool completes = facts->receives == RECEIVES_COMPLETES;
    const bool starts = facts->receives == RECEIVES_STARTS;
    facts->reads_peer = function->group == QMPIX_GROUP_ONE_SIDED;
    facts->has_transfers =
        starts || facts->reads_peer || function->group == QMPIX_GROUP_POINT_TO_POINT;
    facts->has_bytes =
        starts || function->group == QMPIX_GROUP_COLLECTIVE || function->group == QMPIX_GROUP_IO;
    facts->comm = find(function, QMPIX_KIND_COMM);
    facts->file = find(function, QMPIX_KIND_FILE);
    facts->waits = function->group == QMPIX_GROUP_COLLECTIVE && facts->comm >= 0 &&
                   number != MPI_BARRIER_T && !takes(function, QMPIX_KIND_REQUEST);
    facts->has_error = function->result == QMPIX_KIND_INT;
    facts->is_steered = steer_concerns(number);
    facts->sends_plainly = sends_plainly(function);
    facts->carries = facts->has_transfers || facts->has_bytes;
    facts->begins_simply = !facts->is_steered && !completes && facts->receives != RECEIVES_FREES;
    facts->ends_simply = !facts->is_steered && !completes && facts->receives != RECEIVES_MAKES;
    facts->has_places = facts->is_steered || facts->file >= 0;
}

void facts_find(void)
{
    static bool found;
    if (found)
        return;
    found = true;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        facts_all[number].comm = facts_all[number].file = facts_all[number].source = -1;
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS)
            describe(&facts_all[number], function);
    }
}

void facts_let_wait(void)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++)
        facts_all[number].begins_simply &= !facts_all[number].waits;
}
