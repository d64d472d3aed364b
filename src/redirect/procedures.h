/* SPDX-License-Identifier: MIT */
/*
 * The names of MPI's procedures in Fortran, and the objects in the process that define them. The
 * loader gives the program the first of a name: where that is a language binding's or a tool's it
 * is our business which one the program calls. Others, in the program or in a library that replaces
 * procedures and nothing of C's, are not.
 */
#ifndef QMPI_PROCEDURES_H
#define QMPI_PROCEDURES_H

#include "elf/loaded.h"

#include <stdbool.h>

/*
 * Whether a name is that of a procedure: mpi_send_, mpi_send__, mpi_send, MPI_SEND, mpi_send_f08_
 * and the like for C's MPI_Send. Constants are none, and neither are MPI_NULL_COPY_FN and its like,
 * of which the address counts.
 */
bool qmpi_procedures_named(const char *name);

/* Whether an object defines any. */
bool qmpi_procedures_defined(const struct qmpi_elf_image *image);

/* Notes who defines procedures. Once, before the program begins. */
void qmpi_procedures_find(void);

/*
 * Whether a reference of `object` to this procedure is for us to lead: the first who defines it is
 * a binding or a tool. Where a binding came later, it must not be the object's own.
 */
bool qmpi_procedures_led(const struct qmpi_elf_loaded *object, const char *name);

/* Whether the object at this address is a tool, or came along with one, that was found then. */
bool qmpi_procedures_of_tool(ElfW(Addr) base);

#endif
