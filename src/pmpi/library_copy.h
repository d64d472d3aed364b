/* SPDX-License-Identifier: MIT */
/*
 * The loader loads a file once, for whoever asks. A tool that stands in the stack twice needs its
 * data twice; and a library of a tool's own that calls MPI must not be the one that the program
 * uses, or will use, for then nobody could tell whose a call is. Such libraries are loaded from
 * copies, in a temporary folder of this process, that answer to no name of the originals'.
 */
#ifndef QMPI_PMPI_LIBRARY_COPY_H
#define QMPI_PMPI_LIBRARY_COPY_H

#include "pmpi/copy_plan.h"

/*
 * Makes the copies that the library and its dependencies need. Returns the path to open, of a copy
 * or the library's own (to be freed); NULL and *problem (to be freed): it cannot. Any thread.
 */
char *qmpi_copies_make(struct qmpi_copies *copies, char **problem);

#endif
