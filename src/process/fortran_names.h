/* SPDX-License-Identifier: MIT */
/* The names of MPI's procedures in Fortran, as compilers mangle them. */
#ifndef QMPI_PROCESS_FORTRAN_NAMES_H
#define QMPI_PROCESS_FORTRAN_NAMES_H

#include "elf/elf.h"

#include <stdbool.h>

/*
 * Returns the number of the function that a procedure stands for: MPI_Send for mpi_send_,
 * mpi_send__, mpi_send, MPI_SEND, mpi_send_f08_ and similar names. -1: the name is not that of a
 * procedure. Names of constants are not, nor are MPI_NULL_COPY_FN and similar names, whose address
 * is significant.
 */
int qmpi_procedures_function(const char *name);

/* Whether a name is that of a procedure. */
bool qmpi_procedures_named(const char *name);

/* Whether an object defines such a procedure. */
bool qmpi_procedures_defined(const struct qmpi_elf_image *image);

#endif
