/* SPDX-License-Identifier: MIT */
/*
 * The MPI library's predefined handles as libqmpi names them. In MPICH they are numbers. In Open
 * MPI they are addresses of the library's data: weak references here (weak_handles.h), which the
 * loader binds where it loads us with the program and its MPI library.
 */
#ifndef QMPI_PROCESS_HANDLES_H
#define QMPI_PROCESS_HANDLES_H

#include "elf/loaded.h"

/* Binds them to those of `library`, which was found as the base, where the loader could not. */
void qmpi_handles_find(const struct qmpi_elf_loaded *library);

#endif
