/* SPDX-License-Identifier: MIT */
/*
 * Makes every way to MPI lead through the entries, exactly once a call. Most programs refer to
 * MPI_X and find our entries by the loader's own rules; not so the language bindings that call
 * PMPI_X, the calls that the MPI library makes of itself, and programs that were linked in another
 * order. Their references are pointed where they belong when libqmpi is loaded, and again in
 * start-up for what came later.
 */
#ifndef QMPI_REDIRECT_REDIRECT_H
#define QMPI_REDIRECT_REDIRECT_H

#include <stdbool.h>

/* Looks at all objects that have been loaded since it last did. */
void qmpi_redirect(void);

/* Whether an address lies in a language binding; one that is new is redirected. */
bool qmpi_redirect_is_binding(const void *address);

/* Whether the loader finds the MPI library's functions before ours, as in a program linked so. */
bool qmpi_redirect_is_interposed(void);

#endif
