/* SPDX-License-Identifier: MIT */
/*
 * Redirects all calls of the program to the entry points, so that each call passes through them
 * exactly once. Most programs refer to MPI_X, which the loader resolves to the entry points.
 * Exceptions are language bindings that call PMPI_X, and programs with a different link order.
 * Their references are redirected when libqmpi is loaded, and during start-up for objects loaded
 * later. Calls that the MPI library makes itself stay within the library, unless QMPI_INTERNAL=1
 * shows them to the layers.
 */
#ifndef QMPI_REDIRECT_REDIRECT_H
#define QMPI_REDIRECT_REDIRECT_H

#include "redirect/caller.h"
#include "redirect/fortran.h"

#include <stdbool.h>

/* If any object has been loaded since the last call, examines all objects, and redirects their
 * references. */
void qmpi_redirect(void);

/* Returns whether an address is in a language binding; a new binding is redirected. */
bool qmpi_redirect_is_binding(const void *address);

/* Returns whether the MPI library interposes the functions of libqmpi, due to the link order of the
 * program. */
bool qmpi_redirect_is_interposed(void);

#endif
