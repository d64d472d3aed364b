/* SPDX-License-Identifier: MIT */
/*
 * The language bindings of the MPI library in the process, and the names of MPI's procedures in
 * Fortran. Bindings are libraries that translate Fortran calls to C calls. They are recorded when
 * their relocations are redirected, and stay loaded.
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

/* Returns the address of the procedure or variable that a binding defines under this name; NULL:
 * none. */
void *qmpi_binding_find(const char *name);

/* Whether an address is in a recorded binding. Any thread. */
bool qmpi_binding_holds(const void *address);

/* Whether a recorded binding contains an address. Sets *name to the name of the function at the
 * address; NULL: it is not exported. Any thread, also in a signal handler. */
bool qmpi_binding_function_at(const void *address, const char **name);

/* ---- Names of procedures, as compilers mangle them ------------------------------------------- */

/*
 * Returns the number of the function for a procedure: MPI_Send for mpi_send_, mpi_send__, mpi_send,
 * MPI_SEND, mpi_send_f08_ and similar names. -1: the name is not that of a procedure. Constants do
 * not count, nor do MPI_NULL_COPY_FN and similar functions, whose address is significant.
 */
int qmpi_binding_function(const char *name);

/* Does the same for the name of a procedure in the profiling interface: pmpi_send_, pmpir_send_f08_
 * and similar names.
 */
int qmpi_binding_pmpi_function(const char *name);

/* Whether a name is that of a procedure. */
bool qmpi_binding_is_procedure(const char *name);

/* Whether an object defines a procedure. */
bool qmpi_binding_has_procedures(const struct qmpi_elf_image *image);

#endif
