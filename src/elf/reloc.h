/* SPDX-License-Identifier: MIT */
/*
 * The references of a loaded object, its relocations against symbols: which there are, and changing
 * where they lead.
 */
#ifndef QMPI_ELF_RELOC_H
#define QMPI_ELF_RELOC_H

#include "elf/arch.h"
#include "elf/loaded.h"

#include <stdbool.h>
#include <stddef.h>

/* A reference to a symbol's address. The name is the object's. */
struct qmpi_elf_relocation {
    const char *name;
    enum qmpi_binding binding;
    char **place;     /* where the address lies; in data perhaps not as a pointer should */
    ptrdiff_t addend; /* in what lies there beyond the address */
};

/* Calls `visit` once for every reference of the object; for none where they are of a kind that this
 * processor does not use. */
typedef void qmpi_elf_visit(void *data, const struct qmpi_elf_relocation *relocation);
void qmpi_elf_visit_relocations(const struct qmpi_elf_loaded *object, qmpi_elf_visit *visit,
                                void *data);

/*
 * Where a reference to `name` is to lead; NULL: where it leads now. Called once for every reference
 * of the object to a symbol's address.
 */
typedef void *qmpi_elf_target(void *data, const char *name, enum qmpi_binding binding);

/* Whether `target` has an answer for a reference of the object. Reads only what is in its file. */
bool qmpi_elf_refers(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data);

/*
 * Asks `target` about each reference of `object`, which is not loading any more, and writes the
 * answers that differ from what is there; pages that had to be made writable for it are read-only
 * again afterwards. NULL, or what stands in the way (to be freed).
 */
char *qmpi_elf_rewrite(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data);

#endif
