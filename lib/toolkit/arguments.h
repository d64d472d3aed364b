/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a call. The MPI library of the program may have other handles and constants than
 * those with which the tool is compiled: all but words and addresses is converted.
 */
#ifndef QMPI_TOOLKIT_ARGUMENTS_H
#define QMPI_TOOLKIT_ARGUMENTS_H

#include "toolkit/private_comm.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size of the program's communicators, datatypes and requests: 4 or 8. */
extern size_t arguments_handle_size __attribute__((visibility("hidden")));

/* Finds it. From `init`. */
void arguments_find_size(void);

/* A communicator, datatype or request of the program as a word: not converted, and therefore only
 * to be compared with other such words, and to be searched for. */
static inline uint64_t argument_word_at(const void *handle)
{
    return arguments_handle_size == sizeof(uint32_t) ? *(const uint32_t *)handle
                                                     : *(const uint64_t *)handle;
}

static inline uint64_t argument_word(const QMPIX_Call *call, int place)
{
    return argument_word_at(call->arguments[place]);
}

/* The same of element `i` of an array to which an argument leads. */
static inline uint64_t argument_element_word(const QMPIX_Call *call, int place, int i)
{
    return argument_word_at(*(const char *const *)call->arguments[place] +
                            (size_t)i * arguments_handle_size);
}

/* An address as the program gave it. */
static inline const void *argument_address(const QMPIX_Call *call, int place)
{
    return *(const void *const *)call->arguments[place];
}

/* The integer to which an argument leads, which has no constants. */
static inline int argument_int_at(const QMPIX_Call *call, int place)
{
    return *(const int *)argument_address(call, place);
}

int argument_negative(const QMPIX_Call *call, int place);

/* A count, a rank, a tag: all constants are negative. */
static inline int argument_int(const QMPIX_Call *call, int place)
{
    const int number = *(const int *)call->arguments[place];
    return __builtin_expect(number >= 0, 1) ? number : argument_negative(call, place);
}

/* A count of either size. */
MPI_Count argument_count(const QMPIX_Call *call, int place);

MPI_Comm argument_comm(const QMPIX_Call *call, int place);
MPI_Datatype argument_type(const QMPIX_Call *call, int place);
MPI_File argument_file(const QMPIX_Call *call, int place);

/* The handle to which an argument leads; the null handle: it leads nowhere. */
MPI_Comm argument_comm_at(const QMPIX_Call *call, int place);
MPI_File argument_file_at(const QMPIX_Call *call, int place);
MPI_Session argument_session_at(const QMPIX_Call *call, int place);

/* Element `i` of an array of requests. */
MPI_Request argument_request_at(const QMPIX_Call *call, int place, int i);

/* Element `i` of an array of statuses. False: the argument leads to none. */
bool argument_status_at(const QMPIX_Call *call, int place, int i, MPI_Status *status);

/* The error class of a call that has returned an error code. */
int argument_error_class(const QMPIX_Call *call);

/* Whether it has returned MPI_SUCCESS, which is 0 in all MPI libraries. */
static inline bool argument_result_is_success(const QMPIX_Call *call)
{
    return *(const int *)call->result == MPI_SUCCESS;
}

#endif
