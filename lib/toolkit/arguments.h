/* SPDX-License-Identifier: MIT */
/*
 * Reads the arguments of a call, whose numbers begin at 0. The MPI library of the program may have
 * other handles and constants than the <mpi.h> with which the tool is compiled. Therefore, these
 * functions convert handles, constants and statuses, unless the comment of a function says
 * otherwise.
 */
#ifndef QMPI_TOOLKIT_ARGUMENTS_H
#define QMPI_TOOLKIT_ARGUMENTS_H

#include "toolkit/world.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This is the size in bytes of the program's communicators, datatypes and requests, which is 4
 * or 8. */
extern size_t arguments_handle_size __attribute__((visibility("hidden")));

/* These are the places of the arguments of MPI_Send and similar functions, and of MPI_Recv. */
enum {
    MESSAGE_COUNT = 1,
    MESSAGE_TYPE = 2,
    MESSAGE_PEER = 3,
    MESSAGE_TAG = 4,
    MESSAGE_COMM = 5,
    MESSAGE_STATUS = 6
};

/* Sets arguments_handle_size. A tool must call this in `init`. */
void arguments_find_size(void);

/* Returns the communicator, datatype or request of the program at an address as a word. The word is
 * not converted, so it can only be compared with other such words or be used as a key. */
static inline uint64_t argument_word_at(const void *handle)
{
    return arguments_handle_size == sizeof(uint32_t) ? *(const uint32_t *)handle
                                                     : *(const uint64_t *)handle;
}

/* Returns the word of an argument that is a communicator, datatype or request. */
static inline uint64_t argument_word(const QMPIX_Call *call, int place)
{
    return argument_word_at(call->arguments[place]);
}

/* Returns the word of element `i` of an array of handles to which an argument points. */
static inline uint64_t argument_element_word(const QMPIX_Call *call, int place, int i)
{
    return argument_word_at(*(const char *const *)call->arguments[place] +
                            (size_t)i * arguments_handle_size);
}

/* Returns the address that the program passed as an argument. It is not converted. */
static inline const void *argument_address(const QMPIX_Call *call, int place)
{
    return *(const void *const *)call->arguments[place];
}

/* Returns the integer to which an argument points. It is not converted, so that MPI_UNDEFINED, for
 * instance, has the value that it has in the MPI library. */
static inline int argument_int_at(const QMPIX_Call *call, int place)
{
    return *(const int *)argument_address(call, place);
}

/* Returns an integer argument after conversion, which negative numbers need. */
int argument_negative(const QMPIX_Call *call, int place);

/* Returns a count, a rank, a tag or a similar argument of type int. Only negative numbers are
 * converted, because the constants of these arguments are negative in all MPI libraries. */
static inline int argument_int(const QMPIX_Call *call, int place)
{
    const int number = *(const int *)call->arguments[place];
    return __builtin_expect(number >= 0, 1) ? number : argument_negative(call, place);
}

/* Returns a count, whether its parameter has type int or MPI_Count. */
MPI_Count argument_count(const QMPIX_Call *call, int place);

MPI_Comm argument_comm(const QMPIX_Call *call, int place);
MPI_Datatype argument_type(const QMPIX_Call *call, int place);
MPI_File argument_file(const QMPIX_Call *call, int place);

/* Returns whether a datatype is predefined. Call this, and PMPI_Type_size_x, only for the type of a
 * successful call that has moved at least one element. In other calls, MPI need not have examined
 * the type, which may then be invalid, and an invalid type would cause MPI to call an error handler
 * of the program. */
bool argument_type_is_predefined(MPI_Datatype type);

/* Each returns the handle to which an argument points, or the null handle if it cannot be read. */
MPI_Comm argument_comm_at(const QMPIX_Call *call, int place);
MPI_File argument_file_at(const QMPIX_Call *call, int place);
MPI_Session argument_session_at(const QMPIX_Call *call, int place);

/* Returns element `i` of an array of requests, or MPI_REQUEST_NULL if it cannot be read. */
MPI_Request argument_request_at(const QMPIX_Call *call, int place, int i);

/* Stores element `i` of an array of statuses. Returns false, and leaves `*status` as it is, if it
 * cannot be read, for instance because the program passed MPI_STATUSES_IGNORE. */
bool argument_status_at(const QMPIX_Call *call, int place, int i, MPI_Status *status);

/* Returns the error class of the error code that a call has returned. This must be called in
 * `after`. */
int argument_error_class(const QMPIX_Call *call);

/* Returns whether a call has returned MPI_SUCCESS, which is 0 in all MPI libraries, so that it
 * needs no conversion. */
static inline bool argument_result_is_success(const QMPIX_Call *call)
{
    return *(const int *)call->result == MPI_SUCCESS;
}

#endif
