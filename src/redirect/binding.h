/* SPDX-License-Identifier: MIT */
/*
 * References of language bindings. Some bindings call MPI_X, others PMPI_X; both are calls of the
 * program. A few procedures call further functions for their own purposes, which are not.
 */
#ifndef QMPI_REDIRECT_BINDING_H
#define QMPI_REDIRECT_BINDING_H

#include "elf/elf.h"

/* Redirects the references of a binding to the entry points, and takes ownership of the handle,
 * because a binding stays loaded. One thread at a time. */
void qmpi_binding_redirect(struct qmpi_elf_held *held);

#endif
