/* SPDX-License-Identifier: MIT */
/*
 * The MPI library's language bindings: libraries that turn Fortran calls into C ones. Some call
 * MPI_X, some PMPI_X; either is the program's call. A few procedures call further functions for
 * their own needs: those calls are not.
 */
#ifndef QMPI_BINDING_H
#define QMPI_BINDING_H

#include "elf_loaded.h"

#include <stdbool.h>

/* Whether an object is a language binding. */
bool qmpi_binding_is(const struct qmpi_elf_loaded *object);

/* Points its references to the entries. */
void qmpi_binding_redirect(const struct qmpi_elf_loaded *object);

/* How many bindings were redirected. */
int qmpi_binding_count(void);

/* The procedure that a binding defines under this name; NULL: none does. */
void *qmpi_binding_find(const char *name);

/* Whether an address lies in a binding that was redirected. Any thread. */
bool qmpi_binding_holds(const void *address);

#endif
