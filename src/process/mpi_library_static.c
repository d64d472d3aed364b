/* SPDX-License-Identifier: MIT */
/* Implements mpi_library.h for libqmpi.a: the MPI library is part of the program, like libqmpi, so
 * it is not searched for. */
#include "process/mpi_library.h"

#include "generate/build.h"

#include <stddef.h>
#include <string.h>

qmpi_function *qmpi_pmpi_functions[QMPI_FUNCTION_COUNT];

void qmpi_mpi_library_find(void)
{
    memcpy(qmpi_pmpi_functions, qmpi_static_pmpi_functions,
           sizeof qmpi_pmpi_functions); /* each call stores the same values */
}

void qmpi_mpi_library_save_unpaired(const struct qmpi_elf_loaded *object)
{
    (void)object; /* a static program has no shared MPI library */
}

qmpi_function *qmpi_mpi_library_unpaired(int number)
{
    (void)number;
    return NULL;
}

void *qmpi_mpi_library_symbol(const char *name)
{
    (void)name; /* not needed: all references of a static program are resolved at link time */
    return NULL;
}

bool qmpi_mpi_library_provides(int number)
{
    return qmpi_static_pmpi_functions[number] != NULL;
}

const char *qmpi_mpi_library_mismatch(void)
{
    return NULL;
}

enum qmpi_mpi_kind qmpi_mpi_library_implementation(void)
{
    const enum qmpi_mpi_kind kind = qmpi_mpi_kind_by_build(QMPI_MPI);
    return kind == QMPI_MPI_ABI ? QMPI_MPI_UNKNOWN : kind;
}

const char *qmpi_mpi_library_soname(void)
{
    return NULL; /* no tool is refused because it needs a shared MPI library: it still gets the
                    functions of the program */
}

const char *qmpi_mpi_library_path(void)
{
    return "the program itself";
}
