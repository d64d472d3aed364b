/* SPDX-License-Identifier: MIT */
/*
 * Where the symbols lead that a loaded object defines: for references that the loader binds from
 * now on, and for dlsym. What is bound already stays.
 */
#ifndef QMPI_ELF_DEFINE_H
#define QMPI_ELF_DEFINE_H

#include "elf/loaded.h"

/* What a symbol of this name is to lead to; NULL: what it leads to now. */
typedef void *qmpi_elf_definition(const char *name);

/* Asks about each symbol that the object, which is not loading any more, defines, and writes the
 * answers. NULL, or what stands in the way (to be freed). */
char *qmpi_elf_redefine(const struct qmpi_elf_loaded *object, qmpi_elf_definition *definition);

#endif
