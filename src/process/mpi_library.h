/* SPDX-License-Identifier: MIT */
/*
 * The MPI library of the program, whose PMPI functions the terminators of all chains call.
 * libqmpi.so is not linked with an MPI library. It searches for the one that is loaded. If there is
 * none, it opens the one for which it was built.
 */
#ifndef QMPI_PROCESS_MPI_LIBRARY_H
#define QMPI_PROCESS_MPI_LIBRARY_H

#include "elf/elf.h"
#include "functions/functions.h"
#include "process/mpi_kind.h"

#include <stdbool.h>

/* The MPI library's own PMPI functions. */
extern qmpi_function *qmpi_pmpi_functions[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* One of these functions, with its type: QMPI_PMPI(Comm_rank, COMM_RANK)(comm, &rank). */
#define QMPI_PMPI(X, NUMBER) ((__typeof__(&MPI_##X))qmpi_pmpi_functions[MPI_##NUMBER##_T])

/*
 * Finds the MPI library and fills qmpi_pmpi_functions, once, in any thread. Terminates the process
 * with a message if there is no MPI library.
 */
void qmpi_mpi_library_find(void);

/*
 * Some libraries have an MPI_X without a PMPI_X. qmpi_mpi_library_save_unpaired saves these
 * functions of an MPI library before its symbols MPI_X are redefined as the entry points; only the
 * first call has an effect. qmpi_mpi_library_unpaired returns one of them; NULL: none.
 */
void qmpi_mpi_library_save_unpaired(const struct qmpi_elf_loaded *object);
qmpi_function *qmpi_mpi_library_unpaired(int number);

/*
 * Returns the address of a symbol of the MPI library that is not an MPI function; NULL: not
 * defined, or the library has not been found yet. In libqmpi.a, the result is always NULL.
 */
void *qmpi_mpi_library_symbol(const char *name);

/* Returns a message if the MPI library is not the one that this build is for; NULL: it is. */
const char *qmpi_mpi_library_mismatch(void);

/*
 * Functions that are used in place of those that the MPI library lacks, because this build is for
 * another library of the same kind. They call qmpi_mpi_library_lacks, which prints a message and
 * ends the job. They are defined in entries.S.
 */
extern qmpi_function *const qmpi_missing[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Whether the MPI library has a function. For its own needs, or for those of a tool, libqmpi must
 * call this before it calls a function that may be missing. */
bool qmpi_mpi_library_provides(int number);
_Noreturn void qmpi_mpi_library_lacks(int number) QMPI_HIDDEN;

/* In libqmpi.a: the PMPI functions of the MPI library that the program is linked with. */
extern qmpi_function *const qmpi_static_pmpi_functions[QMPI_FUNCTION_COUNT];

/* Returns the implementation: QMPI_MPI_MPICH, QMPI_MPI_OPEN_MPI or QMPI_MPI_UNKNOWN. */
enum qmpi_mpi_kind qmpi_mpi_library_implementation(void);

/* Return the soname (in libqmpi.a, NULL) and the path of the MPI library, or texts for messages if
 * the library has no soname, or is part of the program. */
const char *qmpi_mpi_library_soname(void);
const char *qmpi_mpi_library_path(void);

#endif
