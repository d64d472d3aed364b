/* SPDX-License-Identifier: MIT */
/* See message.h. */
#include "record/message.h"

#include <string.h>

/* Not the persistent ones: MPI_Start is what sends. */
static bool sends(const QMPIX_Function *function)
{
    const QMPIX_Parameter *parameters = function->parameters;
    return function->group == QMPIX_GROUP_POINT_TO_POINT && !strstr(function->name, "_init") &&
           function->parameter_count > MESSAGE_COMM &&
           !strcmp(parameters[MESSAGE_COUNT].name, "count") &&
           parameters[MESSAGE_COUNT].kind == QMPIX_KIND_INT &&
           parameters[MESSAGE_TYPE].kind == QMPIX_KIND_DATATYPE &&
           !strcmp(parameters[MESSAGE_PEER].name, "dest") &&
           parameters[MESSAGE_COMM].kind == QMPIX_KIND_COMM;
}

bool message_end(const QMPIX_Function *function, enum site_end *end)
{
    if (function->number == MPI_RECV_T)
        *end = SITE_RECEIVES;
    else if (sends(function))
        *end = SITE_SENDS;
    else
        return false;
    return true;
}

/* Predefined types alone are remembered: the handle of another one may become that of a third. In
 * this order, as below. */
bool message_find_size(struct site *site, const QMPIX_Call *call, uint64_t *size)
{
    const MPI_Datatype type = argument_type(call, MESSAGE_TYPE);
    const uint64_t word = argument_word(call, MESSAGE_TYPE);
    MPI_Count bytes = 0;
    int integers, addresses, types, combiner = MPI_UNDEFINED;
    if (PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0)
        return false;
    *size = (uint64_t)bytes;
    if (site->derived == word ||
        PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS)
        return true;
    if (combiner == MPI_COMBINER_NAMED) {
        __atomic_store_n(&site->type, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&site->type_size, *size, __ATOMIC_RELEASE);
        __atomic_store_n(&site->type, word, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&site->derived, word, __ATOMIC_RELEASE);
    }
    return true;
}

/* In this order: what is left half done by a jump is looked up again. */
struct matrix_row *message_find_cell(struct thread *thread, const QMPIX_Call *call,
                                     struct site *site, int peer)
{
    int world = MPI_UNDEFINED;
    if (QMPIX_Comm_world_rank(argument_comm(call, MESSAGE_COMM), peer, &world) != MPI_SUCCESS ||
        world < 0)
        return NULL;
    const uint64_t key = (uint64_t)world << 1 | 1;
    struct matrix_row *cell = table_get(&thread->matrix, &key, 1);
    __atomic_store_n(&site->cell, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&site->peer, peer, __ATOMIC_RELEASE);
    __atomic_store_n(&site->cell, cell, __ATOMIC_RELEASE);
    return cell;
}
