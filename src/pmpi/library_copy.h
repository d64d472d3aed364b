/* SPDX-License-Identifier: MIT */
/*
 * Copies of libraries. The loader loads each file only once. A tool that is in the stack twice
 * needs its data twice. A tool's dependency that calls MPI must not be the object that the program
 * uses or will use, because its calls could not be assigned to the layer or the program. Such
 * libraries are loaded from copies in a temporary directory of this process, which do not match any
 * name of the originals.
 */
#ifndef QMPI_PMPI_LIBRARY_COPY_H
#define QMPI_PMPI_LIBRARY_COPY_H

#include "pmpi/copy_plan.h"

/*
 * Creates the required copies of a library and its dependencies. Returns the path to open, of the
 * copy or the library, which the caller frees. On failure, returns NULL and sets *problem, which
 * the caller frees. Any thread.
 */
char *qmpi_copies_make(struct qmpi_copies *copies, char **problem);

#endif
