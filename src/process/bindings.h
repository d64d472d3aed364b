/* SPDX-License-Identifier: MIT */
/*
 * The language bindings of the MPI library in the process: libraries that translate Fortran calls
 * to C calls. They are recorded when their relocations are redirected, and stay loaded.
 */
#ifndef QMPI_PROCESS_BINDINGS_H
#define QMPI_PROCESS_BINDINGS_H

#include "elf/elf.h"

#include <stdbool.h>

/* Records a binding, which must stay loaded. One thread at a time. */
void qmpi_binding_add(const struct qmpi_elf_loaded *object);

/* Whether an object is a recorded binding. Any thread. */
bool qmpi_binding_is_known(const struct qmpi_elf_loaded *object);

/* Whether any binding is recorded; never reset. A variable, because it is read on the path of MPI
 * calls. */
extern bool qmpi_binding_any __attribute__((visibility("hidden")));

/* Returns the procedure that a binding defines under this name; NULL: none. */
void *qmpi_binding_find(const char *name);

/* Whether an address is in a recorded binding. Any thread. */
bool qmpi_binding_holds(const void *address);

#endif
