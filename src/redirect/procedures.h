/* SPDX-License-Identifier: MIT */
/*
 * The objects in the process that define MPI's Fortran procedures. The loader resolves a reference
 * of the program to the first definition. If this is in a language binding or a tool, libqmpi
 * decides which one the program calls. It does not redirect definitions in the program, or in a
 * library that replaces procedures but no C functions.
 */
#ifndef QMPI_REDIRECT_PROCEDURES_H
#define QMPI_REDIRECT_PROCEDURES_H

#include "elf/elf.h"

#include <stdbool.h>

/* Records the objects that define procedures. Called once, before the program starts. */
void qmpi_procedures_find(void);

/*
 * Whether to redirect a reference of `object` to this procedure: the first definition is in a
 * binding or a tool. If a binding was loaded later, the object must not define the procedure
 * itself.
 */
bool qmpi_procedures_led(const struct qmpi_elf_loaded *object, const char *name);

/* Whether the object at this address is a tool that was recorded, or a dependency of one. */
bool qmpi_procedures_of_tool(ElfW(Addr) base);

#endif
