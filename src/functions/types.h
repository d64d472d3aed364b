/* SPDX-License-Identifier: MIT */
/* The dispatcher's view of an MPI function: a number and a pointer. */
#ifndef QMPI_FUNCTIONS_TYPES_H
#define QMPI_FUNCTIONS_TYPES_H

#include <qmpi/qmpi.h>

enum { QMPI_FUNCTION_COUNT = MPI_LAST_FUNC };

typedef void qmpi_function(void);

/* For pointers on the path of an MPI call: they are read directly, not through the GOT. */
#define QMPI_HIDDEN __attribute__((visibility("hidden")))

#endif
