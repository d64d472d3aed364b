/* SPDX-License-Identifier: MIT */
/*
 * The MPI library's language bindings: libraries that turn Fortran calls into C ones. Some call
 * MPI_X, some PMPI_X; either is the program's call. A few procedures call further functions for
 * their own needs: those calls are not.
 */
#ifndef QMPI_BINDING_H
#define QMPI_BINDING_H

#include "elf/held.h"

#include <stdbool.h>

/* Whether an object is a language binding. */
bool qmpi_binding_is(const struct qmpi_elf_loaded *object);

/* Points its references to the entries, and takes over the handle: a binding stays. One thread at a
 * time. */
void qmpi_binding_redirect(struct qmpi_elf_held *held);

/* Whether an object is one that was redirected. Any thread. */
bool qmpi_binding_is_known(const struct qmpi_elf_loaded *object);

/* Whether there is any. Once it is true it stays so. A variable, for it is read on the way of
 * calls. */
extern bool qmpi_binding_any __attribute__((visibility("hidden")));

/* The procedure that a binding defines under this name; NULL: none does. */
void *qmpi_binding_find(const char *name);

/* Whether an address lies in a binding that was redirected. Any thread. */
bool qmpi_binding_holds(const void *address);

#endif
