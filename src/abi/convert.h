/* SPDX-License-Identifier: MIT */
/*
 * Converts whatever else than handles and constants (values.h) a tool that is compiled for the
 * standard ABI gets from libqmpi of this MPI library, or gives to it: statuses, and addresses with
 * a meaning. The generated functions QMPIX_abi_X use it; in C, their handles are uintptr_t.
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

void qmpi_abi_from_status(const MPI_Status *native, struct qmpi_abi_status *abi);
void qmpi_abi_to_status(const struct qmpi_abi_status *abi, MPI_Status *native);

/* Addresses of the ABI; this library's. */
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

/* Predefined callbacks of attributes, which are functions of the library: the ABI's 0 and 1. */
void qmpi_abi_find_callbacks(void);
const void *qmpi_abi_from_callback(const void *native);

/* Converts integers in place. */
void qmpi_abi_from_numbers(enum qmpi_abi_meaning meaning, int count, int *numbers);

/* Returns converted integers, which the caller frees. */
int *qmpi_abi_to_numbers(enum qmpi_abi_meaning meaning, int count, const int *numbers);

#endif
