/* SPDX-License-Identifier: MIT */
/*
 * Changes the values of symbols that a loaded object defines, for references that the loader
 * resolves later and for dlsym. References that are already resolved do not change.
 */
#ifndef QMPI_ELF_DEFINE_H
#define QMPI_ELF_DEFINE_H

#include "elf/loaded.h"

/* Returns the new address of a symbol; NULL: no change. */
typedef void *qmpi_elf_definition(const char *name);

/* Calls `definition` for each symbol that the object defines, and stores the new addresses. The
 * object must be completely loaded. Returns NULL, or a problem, which the caller frees. */
char *qmpi_elf_redefine(const struct qmpi_elf_loaded *object, qmpi_elf_definition *definition);

#endif
