/* SPDX-License-Identifier: MIT */
/*
 * The MPI library's language bindings in the process: libraries that turn Fortran calls into C
 * ones. They are noted when their references are redirected, and stay.
 */
#ifndef QMPI_PROCESS_BINDINGS_H
#define QMPI_PROCESS_BINDINGS_H

#include "elf/loaded.h"

#include <stdbool.h>

/* Notes one that stays. One thread at a time. */
void qmpi_binding_add(const struct qmpi_elf_loaded *object);

/* Whether an object is one that was noted. Any thread. */
bool qmpi_binding_is_known(const struct qmpi_elf_loaded *object);

/* Whether there is any. Once it is true it stays so. A variable, for it is read on the way of
 * calls. */
extern bool qmpi_binding_any __attribute__((visibility("hidden")));

/* The procedure that a binding defines under this name; NULL: none does. */
void *qmpi_binding_find(const char *name);

/* Whether an address lies in one that was noted. Any thread. */
bool qmpi_binding_holds(const void *address);

#endif
