/* SPDX-License-Identifier: MIT */
/*
 * The base of every chain: the PMPI functions of the MPI library that the program brought. libqmpi
 * itself needs no MPI library; it looks for the one that is loaded.
 */
#ifndef QMPI_PROCESS_MPI_LIBRARY_H
#define QMPI_PROCESS_MPI_LIBRARY_H

#include "functions/types.h"

#include <stdbool.h>

/* The MPI library's own PMPI functions. */
extern qmpi_function *qmpi_bases[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* One of them, with its type: QMPI_PMPI(Comm_rank, COMM_RANK)(comm, &rank). */
#define QMPI_PMPI(X, NUMBER) ((__typeof__(&MPI_##X))qmpi_bases[MPI_##NUMBER##_T])

/*
 * Finds the MPI library and fills qmpi_bases; once, whichever thread comes first. Ends the process
 * with a message where there is no MPI library at all.
 */
void qmpi_base_find(void);

/*
 * What the MPI library defines under a name that is not MPI's; NULL: nothing, or the library has
 * not been found yet.
 */
void *qmpi_base_symbol(const char *name);

/* Why the MPI library found is not the kind that this build is for; NULL: it is. */
const char *qmpi_base_mismatch(void);

/* libqmpi.a: the PMPI functions of the MPI library that the program is linked with. */
extern qmpi_function *const qmpi_static_bases[QMPI_FUNCTION_COUNT];

/* The soname and the path of the MPI library found. */
const char *qmpi_base_soname(void);
const char *qmpi_base_path(void);

#endif
