/* SPDX-License-Identifier: MIT */
/* The one message of a call of MPI_Send, MPI_Recv and their like, found in a few steps. */
#ifndef QMPI_TOOL_TRACE_RECORD_MESSAGE_H
#define QMPI_TOOL_TRACE_RECORD_MESSAGE_H

#include "record/objects.h"
#include "record/recorder.h"

/* The arguments of MPI_Send and its like, and of MPI_Recv. */
enum {
    MESSAGE_COUNT = 1,
    MESSAGE_TYPE = 2,
    MESSAGE_PEER = 3,
    MESSAGE_TAG = 4,
    MESSAGE_COMM = 5,
    MESSAGE_STATUS = 6
};

/* Whether these are the arguments of a function, and the count is an int. */
bool message_is_simple(const QMPIX_Function *function);

/* The size of a datatype that is another one than that of the last call. */
bool message_find_size(struct recorder *recorder, const QMPIX_Call *call, uint64_t *size);

/* Where the peer or the tag is only known from the status. */
bool message_find_sender(const QMPIX_Call *call, struct raw_message *message);

/* Whether an argument is the communicator of the last call, whose index is known. */
static inline bool message_is_last_comm(const struct recorder *recorder, const QMPIX_Call *call,
                                        int argument)
{
    const struct handles *handles = &recorder->layer->objects.handles[OBJECT_COMM];
    return recorder->comm_word == argument_word(call, argument) &&
           recorder->comm_changes == handles_changes(handles);
}

static inline uint32_t message_comm(struct recorder *recorder, const QMPIX_Call *call)
{
    return __builtin_expect(message_is_last_comm(recorder, call, MESSAGE_COMM), 1)
               ? recorder->comm
               : objects_find_comm(recorder, call, MESSAGE_COMM);
}

/* Finds the message of a call that succeeded. False: it is not as usual. */
static inline bool message_find_sent(struct recorder *recorder, const QMPIX_Call *call,
                                     struct raw_message *message)
{
    const int peer = *(const int *)call->arguments[MESSAGE_PEER];
    uint64_t size = recorder->type_size;
    if (peer < 0 ||
        (__builtin_expect(recorder->type_word != argument_word(call, MESSAGE_TYPE), 0) &&
         !message_find_size(recorder, call, &size)))
        return false;
    message->bytes = (uint64_t) * (const int *)call->arguments[MESSAGE_COUNT] * size;
    message->comm = message_comm(recorder, call);
    message->peer = peer;
    message->tag = *(const int *)call->arguments[MESSAGE_TAG];
    message->unused = 0;
    return true;
}

/* The status is there: see QMPIX_OBSERVE_STATUSES. */
static inline bool message_find_received(struct recorder *recorder, const QMPIX_Call *call,
                                         struct raw_message *message)
{
    MPI_Count bytes;
    if (QMPIX_Call_get_status_bytes(call, MESSAGE_STATUS, 0, &bytes) != MPI_SUCCESS)
        return false;
    message->bytes = (uint64_t)bytes;
    message->comm = message_comm(recorder, call);
    message->peer = *(const int *)call->arguments[MESSAGE_PEER];
    message->tag = *(const int *)call->arguments[MESSAGE_TAG];
    message->unused = 0;
    return __builtin_expect(message->peer >= 0 && message->tag >= 0, 1) ||
           message_find_sender(call, message);
}

#endif
