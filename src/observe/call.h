/* SPDX-License-Identifier: MIT */
/* Finds the arguments and the result of a call, and their sizes, for the conversions of src/abi. */
#ifndef QMPI_OBSERVE_CALL_H
#define QMPI_OBSERVE_CALL_H

#include "observe/record.h"

/* Returns the description of an argument; NULL: there is none. */
static inline const QMPIX_Parameter *qmpi_call_parameter(const QMPIX_Call *call, int index)
{
    return call && (unsigned)index < (unsigned)call->function->parameter_count
               ? &call->function->parameters[index]
               : NULL;
}

/* Returns the size of an element of the array that a pointer points to; 0: unknown. */
size_t qmpi_call_element_size(const QMPIX_Parameter *parameter);

/* Returns the size of the result; 0: the size is unknown, or the call has no result. */
size_t qmpi_call_result_size(const QMPIX_Call *call);

/* Return MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY of the MPI library. */
int *qmpi_call_unweighted(void);
int *qmpi_call_weights_empty(void);

/* Returns the address of element `first` of an array; NULL: the argument leads to no elements, or
 * `first` or `count` is negative. */
const void *qmpi_call_elements(const QMPIX_Call *call, int index, int first, int count);

#endif
