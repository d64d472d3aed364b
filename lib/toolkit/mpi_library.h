/* SPDX-License-Identifier: MIT */
/* Which loaded files belong to the MPI library: itself and all that it needs, and they need. */
#ifndef QMPI_TOOLKIT_MPI_LIBRARY_H
#define QMPI_TOOLKIT_MPI_LIBRARY_H

#include <stdbool.h>

/* Whether the address lies in one of them; false too where the MPI library is linked statically. */
bool mpi_library_holds(const void *address);

#endif
