/* SPDX-License-Identifier: MIT */
/* mpi_library.h for libqmpi.a: the MPI library is linked into the program with us, nothing need be
 * found.
 */
#include "process/mpi_library.h"

#include "generate/build.h"

#include <stddef.h>
#include <string.h>

qmpi_function *qmpi_bases[QMPI_FUNCTION_COUNT];

void qmpi_base_find(void)
{
    memcpy(qmpi_bases, qmpi_static_bases, sizeof qmpi_bases); /* again and again the same */
}

void qmpi_base_save_unpaired(const struct qmpi_elf_loaded *object)
{
    (void)object; /* a static program has no shared MPI library */
}

qmpi_function *qmpi_base_unpaired(int number)
{
    (void)number;
    return NULL;
}

void *qmpi_base_symbol(const char *name)
{
    (void)name; /* a static program's references are bound already */
    return NULL;
}

const char *qmpi_base_mismatch(void)
{
    return NULL;
}

enum qmpi_mpi_kind qmpi_base_implementation(void)
{
    const enum qmpi_mpi_kind kind = qmpi_mpi_kind_by_build(QMPI_MPI);
    return kind == QMPI_MPI_ABI ? QMPI_MPI_UNKNOWN : kind;
}

const char *qmpi_base_soname(void)
{
    return NULL; /* tools may need the shared library; its functions are the program's */
}

const char *qmpi_base_path(void)
{
    return "the program itself";
}
