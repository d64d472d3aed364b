/* SPDX-License-Identifier: MIT */
/* Changes where the references of a loaded object lead: its relocations against symbols. */
#ifndef QMPI_ELF_REWRITE_H
#define QMPI_ELF_REWRITE_H

#include "arch.h"
#include "elf_loaded.h"

/*
 * Where a reference to `name` is to lead; NULL: where it leads now. Called once for every reference
 * of the object to a symbol's address.
 */
typedef void *qmpi_elf_target(void *data, const char *name, enum qmpi_binding binding);

/*
 * Asks `target` about each reference of `object` and writes its answers; pages that the loader made
 * read-only after relocation are so again afterwards. NULL, or what stands in the way (to be
 * freed).
 */
char *qmpi_elf_rewrite(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data);

#endif
