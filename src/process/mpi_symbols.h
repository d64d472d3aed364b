/* SPDX-License-Identifier: MIT */
/*
 * Whether an object uses or defines MPI functions. Nearly all libraries of a process do not, but
 * have many symbols; therefore, the string table is searched before the symbols are.
 */
#ifndef QMPI_PROCESS_MPI_SYMBOLS_H
#define QMPI_PROCESS_MPI_SYMBOLS_H

#include "elf/elf.h"

/* Whether it defines an MPI function, under the name MPI_X. */
bool qmpi_mpi_symbols_defined(const struct qmpi_elf_image *image);

/* Whether it defines an MPI function or refers to one, as MPI_X or PMPI_X. */
bool qmpi_mpi_symbols_any(const struct qmpi_elf_image *image);

#endif
