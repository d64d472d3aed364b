/* SPDX-License-Identifier: MIT */
/*
 * The MPI library of the program, whose PMPI functions are the ends of all chains. libqmpi itself
 * does not need an MPI library; it searches for the one that is loaded.
 */
#ifndef QMPI_PROCESS_MPI_LIBRARY_H
#define QMPI_PROCESS_MPI_LIBRARY_H

#include "elf/elf.h"
#include "functions/functions.h"
#include "process/mpi_kind.h"

#include <stdbool.h>

/* The MPI library's own PMPI functions. */
extern qmpi_function *qmpi_bases[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* One of these functions, with its type: QMPI_PMPI(Comm_rank, COMM_RANK)(comm, &rank). */
#define QMPI_PMPI(X, NUMBER) ((__typeof__(&MPI_##X))qmpi_bases[MPI_##NUMBER##_T])

/*
 * Finds the MPI library and fills qmpi_bases, once, in any thread. Terminates the process with a
 * message if there is no MPI library.
 */
void qmpi_base_find(void);

/*
 * Some libraries have an MPI_X without a PMPI_X. qmpi_base_save_unpaired remembers these functions
 * of an MPI library, before its MPI_X are defined as the entries; again: does nothing.
 * qmpi_base_unpaired returns one of them; NULL: there is none, or none was saved.
 */
void qmpi_base_save_unpaired(const struct qmpi_elf_loaded *object);
qmpi_function *qmpi_base_unpaired(int number);

/*
 * Returns the address of a symbol of the MPI library that is not an MPI function; NULL: not
 * defined, or the library has not been found yet.
 */
void *qmpi_base_symbol(const char *name);

/* Returns a message if the MPI library is not the one that this build is for; NULL: it is. */
const char *qmpi_base_mismatch(void);

/*
 * What is in the place of a function that the MPI library lacks, because this build is for another
 * library of the same kind: calls qmpi_base_lacks, which says so and ends the job. In entries.S.
 */
extern qmpi_function *const qmpi_missing[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;
_Noreturn void qmpi_base_lacks(int number) QMPI_HIDDEN;

/* libqmpi.a: the PMPI functions of the MPI library that the program is linked with. */
extern qmpi_function *const qmpi_static_bases[QMPI_FUNCTION_COUNT];

/* Returns whose library it is: QMPI_MPI_MPICH, QMPI_MPI_OPEN_MPI or QMPI_MPI_UNKNOWN. */
enum qmpi_mpi_kind qmpi_base_implementation(void);

/* The soname and the path of the MPI library found. */
const char *qmpi_base_soname(void);
const char *qmpi_base_path(void);

#endif
