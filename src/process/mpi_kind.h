/* SPDX-License-Identifier: MIT */
/*
 * The kinds of MPI libraries, each with an ABI of its own, for which a libqmpi is built. They are
 * recognized by the symbols that they export, because names and sonames vary. No other code decides
 * this.
 */
#ifndef QMPI_PROCESS_MPI_KIND_H
#define QMPI_PROCESS_MPI_KIND_H

#include "elf/elf.h"

enum qmpi_mpi_kind {
    QMPI_MPI_MPICH,    /* MPICH and its derivatives */
    QMPI_MPI_OPEN_MPI, /* Open MPI */
    QMPI_MPI_ABI,      /* any library with the standard ABI of MPI 5.0 */
    QMPI_MPI_KINDS,
    QMPI_MPI_UNKNOWN = -1
};

struct qmpi_mpi_description {
    const char *build;  /* the value of -Dmpi and --mpi */
    const char *suffix; /* of the names of its libqmpi, its command and its directory of tools */
    const char *name;   /* in messages: "the program uses NAME" */
};

extern const struct qmpi_mpi_description qmpi_mpi_descriptions[QMPI_MPI_KINDS];

/*
 * Returns the kind of an MPI library; of an image that is not an MPI library, any value. A program
 * with a static MPI library has a kind if it exports the symbols of the library.
 */
enum qmpi_mpi_kind qmpi_mpi_kind_of(const struct qmpi_elf_image *image);

/*
 * Returns the implementation of an MPI library, which tells whose launcher starts programs: for the
 * standard ABI, MPICH (or a derivative) or Open MPI; otherwise, the kind.
 */
enum qmpi_mpi_kind qmpi_mpi_implementation_of(const struct qmpi_elf_image *image);

/* Returns the kind with this value of -Dmpi; QMPI_MPI_UNKNOWN: there is none. */
enum qmpi_mpi_kind qmpi_mpi_kind_by_build(const char *build);

#endif
