/* SPDX-License-Identifier: MIT */
/*
 * The objects in the process that define MPI's procedures in Fortran. The
 * loader gives the program the first of a name: where that is a language binding's or a tool's it
 * is our business which one the program calls. Others, in the program or in a library that replaces
 * procedures and nothing of C's, are not.
 */
#ifndef QMPI_REDIRECT_PROCEDURES_H
#define QMPI_REDIRECT_PROCEDURES_H

#include "elf/loaded.h"

#include <stdbool.h>

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
