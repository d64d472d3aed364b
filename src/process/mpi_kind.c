/* SPDX-License-Identifier: MIT */
/* See mpi_kind.h. */
#include "process/mpi_kind.h"

#include <string.h>

const struct qmpi_mpi_description qmpi_mpi_descriptions[QMPI_MPI_KINDS] = {
    [QMPI_MPI_MPICH] = {"mpich", "", "MPICH"},
    [QMPI_MPI_OPEN_MPI] = {"openmpi", "-openmpi", "Open MPI"},
    [QMPI_MPI_ABI] = {"abi", "-abi", "the standard ABI of MPI"},
};

/* Whether an object defines a symbol: looked up in its hash table, or among all its symbols if the
 * image is a file. */
static bool defines_symbol(const struct qmpi_elf_image *image, const char *name)
{
    if (image->gnu_hash) {
        const struct qmpi_elf_name hashed = {name, qmpi_elf_hash(name)};
        return qmpi_elf_table_find(image, qmpi_elf_table_of(image), hashed) != NULL;
    }
    for (size_t i = 0; i < image->symbol_count; i++) {
        if (qmpi_elf_defines(&image->symbols[i]) &&
            !strcmp(qmpi_elf_string(image, image->symbols[i].st_name), name))
            return true;
    }
    return false;
}

/* Whether an image defines internal functions that the bindings of MPICH and its derivatives call.
 * Open MPI may have other symbols with such names, for debuggers, so qmpi_mpi_kind_of recognizes
 * Open MPI first. */
static bool has_internals_of_mpich(const struct qmpi_elf_image *image)
{
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
        const char *name = qmpi_elf_string(image, image->symbols[i].st_name);
        if (qmpi_elf_defines(&image->symbols[i]) &&
            (!strncmp(name, "MPIR_", 5) || !strncmp(name, "MPII_", 5)))
            return true;
    }
    return false;
}

enum qmpi_mpi_kind qmpi_mpi_kind_of(const struct qmpi_elf_image *image)
{
    /* Libraries with another ABI may also have the functions of the standard ABI, which lacks the
     * functions for Fortran handles. The test is for PMPI_Status_c2f, because MPI_Comm_c2f and most
     * similar functions are macros in older versions of MPICH. */
    if (defines_symbol(image, "PMPI_Abi_get_version") && !defines_symbol(image, "PMPI_Status_c2f"))
        return QMPI_MPI_ABI;
    /* Since Open MPI 6, the predefined handles are in another library, which the MPI library needs.
     * The second symbol recognizes the MPI library itself. */
    if (defines_symbol(image, "ompi_mpi_comm_world") || defines_symbol(image, "ompi_mpiext_init"))
        return QMPI_MPI_OPEN_MPI;
    return has_internals_of_mpich(image) ? QMPI_MPI_MPICH : QMPI_MPI_UNKNOWN;
}

enum qmpi_mpi_kind qmpi_mpi_implementation_of(const struct qmpi_elf_image *image)
{
    const enum qmpi_mpi_kind kind = qmpi_mpi_kind_of(image);
    if (kind != QMPI_MPI_ABI)
        return kind;
    return has_internals_of_mpich(image) ? QMPI_MPI_MPICH : QMPI_MPI_OPEN_MPI;
}

enum qmpi_mpi_kind qmpi_mpi_kind_by_build(const char *build)
{
    for (int kind = 0; kind < QMPI_MPI_KINDS; kind++) {
        if (!strcmp(qmpi_mpi_descriptions[kind].build, build))
            return (enum qmpi_mpi_kind)kind;
    }
    return QMPI_MPI_UNKNOWN;
}
