/* SPDX-License-Identifier: MIT */
/*
 * References of language bindings. Some bindings call MPI_X, some PMPI_X; either is the program's
 * call. A few procedures call further functions for their own needs: those calls are not.
 */
#ifndef QMPI_REDIRECT_BINDING_H
#define QMPI_REDIRECT_BINDING_H

#include "elf/held.h"

/* Points its references to the entries, and takes over the handle: a binding stays. One thread at a
 * time. */
void qmpi_binding_redirect(struct qmpi_elf_held *held);

#endif
