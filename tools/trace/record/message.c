/* SPDX-License-Identifier: MIT */
/* See message.h. */
#include "record/message.h"

#include "record/values.h"

bool message_is_simple(const QMPIX_Function *function)
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

/* Predefined types alone are remembered: the handle of another one may become that of a third. */
bool message_find_size(struct recorder *recorder, const QMPIX_Call *call, uint64_t *size)
{
    const MPI_Datatype type = argument_type(call, MESSAGE_TYPE);
    const uint64_t word = argument_word(call, MESSAGE_TYPE);
    MPI_Count bytes = 0;
    int integers, addresses, types, combiner = MPI_UNDEFINED;
    if (PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0)
        return false;
    *size = (uint64_t)bytes;
    if (recorder->derived_word == word ||
        PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS)
        return true;
    if (combiner != MPI_COMBINER_NAMED) {
        recorder->derived_word = word;
        return true;
    }
    recorder->type_word = 0;
    recorder->type_size = *size;
    recorder->type_word = word;
    return true;
}

bool message_find_sender(const QMPIX_Call *call, struct raw_message *message)
{
    MPI_Status status;
    const int peer = argument_int(call, MESSAGE_PEER);
    if (peer == MPI_PROC_NULL || !argument_status_at(call, MESSAGE_STATUS, 0, &status))
        return false;
    message->peer = value_of_peer(status.MPI_SOURCE);
    message->tag = value_of_tag(status.MPI_TAG);
    return true;
}
