/* SPDX-License-Identifier: MIT */
/* The names of MPI's procedures in Fortran, as compilers mangle them. */
#ifndef QMPI_PROCESS_FORTRAN_NAMES_H
#define QMPI_PROCESS_FORTRAN_NAMES_H

#include "elf/image.h"

#include <stdbool.h>

/*
 * Whether a name is that of a procedure: mpi_send_, mpi_send__, mpi_send, MPI_SEND, mpi_send_f08_
 * and the like for C's MPI_Send. Constants are none, and neither are MPI_NULL_COPY_FN and its like,
 * of which the address counts.
 */
bool qmpi_procedures_named(const char *name);

/* Whether an object defines any. */
bool qmpi_procedures_defined(const struct qmpi_elf_image *image);

#endif
