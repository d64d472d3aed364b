/* SPDX-License-Identifier: MIT */
/* What a function of MPI is to the dispatcher: a number and a pointer. */
#ifndef QMPI_FUNCTIONS_TYPES_H
#define QMPI_FUNCTIONS_TYPES_H

#include <qmpi/qmpi.h>

enum { QMPI_FUNCTION_COUNT = MPI_LAST_FUNC };

typedef void qmpi_function(void);

/* Read directly, not through the GOT: for pointers that are on the path of an MPI call. */
#define QMPI_HIDDEN __attribute__((visibility("hidden")))

#endif
