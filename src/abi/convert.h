/* SPDX-License-Identifier: MIT */
/*
 * Converts statuses, special addresses, predefined callbacks and arrays of integers between this
 * MPI library and a tool that is compiled for the standard ABI (values.h converts handles and
 * single constants). The functions QMPIX_abi_X use this header; their handles are those of the ABI,
 * as uintptr_t.
 */
#ifndef QMPI_ABI_CONVERT_H
#define QMPI_ABI_CONVERT_H

#include "abi/values.h"
#include "dispatch/dispatch.h"

/* MPI_Status of the ABI. */
struct qmpi_abi_status {
    int source, tag, error;
    int internal[5]; /* the hidden members of this library's status */
};

/* The members of MPI_Status that are not public are between these two offsets: in MPICH at the
 * beginning, in Open MPI at the end. */
#ifdef OPEN_MPI
enum {
    QMPI_ABI_HIDDEN = offsetof(MPI_Status, MPI_ERROR) + sizeof(int),
    QMPI_ABI_HIDDEN_END = sizeof(MPI_Status)
};
#else
enum { QMPI_ABI_HIDDEN = 0, QMPI_ABI_HIDDEN_END = offsetof(MPI_Status, MPI_SOURCE) };
#endif
enum { QMPI_ABI_HIDDEN_SIZE = QMPI_ABI_HIDDEN_END - QMPI_ABI_HIDDEN };
_Static_assert((size_t)QMPI_ABI_HIDDEN_SIZE <= sizeof((struct qmpi_abi_status *)0)->internal,
               "the ABI's status has no room for this library's");

void qmpi_abi_from_status(const MPI_Status *native, struct qmpi_abi_status *abi);
void qmpi_abi_to_status(const struct qmpi_abi_status *abi, MPI_Status *native);

/* Like qmpi_abi_from_status, but `native` need not be aligned, and the conversion is faster if no
 * public member needs to be converted. */
static inline void qmpi_abi_read_status(const void *native, struct qmpi_abi_status *abi)
{
    MPI_Status status;
    memcpy(&status, native, sizeof status);
    if (status.MPI_SOURCE < 0 || status.MPI_TAG < 0 || status.MPI_ERROR != MPI_SUCCESS) {
        qmpi_abi_from_status(&status, abi);
        return;
    }
    *abi = (struct qmpi_abi_status){status.MPI_SOURCE, status.MPI_TAG, MPI_SUCCESS, {0}};
    memcpy(abi->internal, (const char *)&status + QMPI_ABI_HIDDEN, QMPI_ABI_HIDDEN_SIZE);
}

/* Special addresses of the ABI. */
#define QMPI_ABI_IN_PLACE ((void *)1)
#define QMPI_ABI_UNWEIGHTED ((int *)10)
#define QMPI_ABI_WEIGHTS_EMPTY ((int *)11)

static inline void *qmpi_abi_to_buffer(const void *abi)
{
    return abi == QMPI_ABI_IN_PLACE ? MPI_IN_PLACE : (void *)(uintptr_t)abi;
}

static inline void *qmpi_abi_from_buffer(const void *native)
{
    return native == MPI_IN_PLACE ? QMPI_ABI_IN_PLACE : (void *)(uintptr_t)native;
}

int *qmpi_abi_to_weights(const int *abi);
int *qmpi_abi_from_weights(const int *native);

/* Converts a predefined callback of attributes, which may be a function of the MPI library, to its
 * value in the ABI, 0 or 1. Any other callback does not change. qmpi_abi_find_callbacks must have
 * found the functions of the library. */
void qmpi_abi_find_callbacks(void);
const void *qmpi_abi_from_callback(const void *native);

/* Converts integers in place. */
void qmpi_abi_from_numbers(QMPIX_Constants kind, int count, int *numbers);

/* Returns `count` converted integers, which the caller frees; if `numbers` is NULL, they are 0. */
int *qmpi_abi_to_numbers(QMPIX_Constants kind, int count, const int *numbers);

#endif
