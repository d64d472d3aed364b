/* SPDX-License-Identifier: MIT */
/*
 * The predefined handles of the MPI library. In MPICH, they are numbers. In Open MPI, they are
 * addresses of data of the library: weak references in libqmpi (weak_handles.h), which the loader
 * resolves if it loads libqmpi together with the program and its MPI library.
 */
#ifndef QMPI_PROCESS_HANDLES_H
#define QMPI_PROCESS_HANDLES_H

#include "elf/elf.h"

/* Resolves them to the handles of `library`, the MPI library in use, if the loader could not. */
void qmpi_handles_find(const struct qmpi_elf_loaded *library);

/* Returns the address of a symbol of the library that holds the data; NULL: not defined. */
void *qmpi_handles_symbol(const char *name);

#endif
