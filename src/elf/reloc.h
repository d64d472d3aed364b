/* SPDX-License-Identifier: MIT */
/*
 * The relocations of a loaded object that refer to symbols: listing them, and changing their
 * targets.
 */
#ifndef QMPI_ELF_RELOC_H
#define QMPI_ELF_RELOC_H

#include "elf/arch.h"
#include "elf/loaded.h"

#include <stdbool.h>
#include <stddef.h>

/* A relocation that refers to the address of a symbol. The object owns the name. */
struct qmpi_elf_relocation {
    const char *name;
    enum qmpi_binding binding;
    char **place;     /* the location of the address; it may be unaligned in data */
    ptrdiff_t addend; /* the stored value is the address plus this */
};

/* Calls `visit` for each such relocation of the object; for none if their type is not used on this
 * processor. */
typedef void qmpi_elf_visit(void *data, const struct qmpi_elf_relocation *relocation);
void qmpi_elf_visit_relocations(const struct qmpi_elf_loaded *object, qmpi_elf_visit *visit,
                                void *data);

/*
 * Returns the new target of a relocation that refers to `name`; NULL: no change. Called for each
 * relocation of the object that refers to the address of a symbol.
 */
typedef void *qmpi_elf_target(void *data, const char *name, enum qmpi_binding binding);

/* Whether `target` has a new target for any relocation of the object. Reads only contents of its
 * file. */
bool qmpi_elf_refers(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data);

/*
 * Calls `target` for each relocation of `object`, and stores the targets that differ from the
 * current ones. The object must be completely loaded. Pages that this makes writable are read-only
 * again afterwards. Returns NULL, or a problem, which the caller frees.
 */
char *qmpi_elf_rewrite(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data);

#endif
