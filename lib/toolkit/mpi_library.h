/* SPDX-License-Identifier: MIT */
/* Finds the loaded files of the MPI library: the library and its dependencies, transitively. */
#ifndef QMPI_TOOLKIT_MPI_LIBRARY_H
#define QMPI_TOOLKIT_MPI_LIBRARY_H

#include <stdbool.h>

/* Whether an address is in one of them; always false if the MPI library is linked statically. */
bool mpi_library_holds(const void *address);

#endif
