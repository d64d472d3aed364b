/* SPDX-License-Identifier: MIT */
/*
 * Changes to loaded objects: the targets of relocations, the values of symbols, and the protection
 * of the pages that contain them. An object must be completely loaded (see qmpi_elf_hold), except
 * for qmpi_elf_refers.
 */
#ifndef QMPI_ELF_REWRITE_H
#define QMPI_ELF_REWRITE_H

#include "elf/loaded.h"

/* ---- Relocations that refer to symbols ------------------------------------------------------- */

/* How a relocation refers to a symbol. */
enum qmpi_elf_reference {
    QMPI_ELF_REFERENCE_NONE, /* it does not refer to the address of a symbol */
    QMPI_ELF_REFERENCE_CALL, /* a slot of the procedure linkage table */
    QMPI_ELF_REFERENCE_GOT,  /* an entry of the global offset table */
    QMPI_ELF_REFERENCE_DATA, /* a pointer in data, to which the addend is added */
};

/* Returns the kind of a relocation of this processor; implemented in arch/reloc_PROCESSOR.c. */
enum qmpi_elf_reference qmpi_elf_reference_of(const ElfW(Rela) * relocation);

/* A relocation that refers to the address of a symbol. The object owns the name. */
struct qmpi_elf_relocation {
    const char *name;
    enum qmpi_elf_reference reference;
    char **place;     /* where the address is stored; in data, this may be unaligned */
    ptrdiff_t addend; /* the stored value is the address plus this */
};

/* Calls `visit` for each relocation of the object that refers to the address of a symbol. Does
 * nothing if the relocations have no explicit addends, because no supported processor uses such
 * relocations. */
typedef void qmpi_elf_visit(void *data, const struct qmpi_elf_relocation *relocation);
void qmpi_elf_visit_relocations(const struct qmpi_elf_loaded *object, qmpi_elf_visit *visit,
                                void *data);

/* Returns the new target of a relocation that refers to `name`; NULL: no change. */
typedef void *qmpi_elf_target(void *data, const char *name, enum qmpi_elf_reference reference);

/* Whether `target` returns a new target for any relocation of the object. This reads only data from
 * the file of the object, so the object may still be loading. */
bool qmpi_elf_refers(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data);

/*
 * Calls `target` for each relocation of `object` that refers to the address of a symbol, and stores
 * the targets that differ from the current ones. Pages that this function makes writable are
 * read-only again afterwards. Returns NULL, or a problem, which the caller frees.
 */
char *qmpi_elf_rewrite(const struct qmpi_elf_loaded *object, qmpi_elf_target *target, void *data);

/* ---- Symbols --------------------------------------------------------------------------------- */

/* Returns the new address of a symbol; NULL: no change. */
typedef void *qmpi_elf_definition(const char *name);

/*
 * Calls `definition`, perhaps several times, for each symbol that the object defines, and stores
 * the new addresses. The new addresses apply to dlsym and to references that the loader resolves
 * later, but not to references that are already resolved. Returns NULL, or a problem, which the
 * caller frees.
 */
char *qmpi_elf_redefine(const struct qmpi_elf_loaded *object, qmpi_elf_definition *definition);

/* ---- Pages ----------------------------------------------------------------------------------- */

/* Pages that contain relocations and have been made writable temporarily. A page that is writable
 * already is not among them, and stays writable. All zero: no page is open. */
struct qmpi_elf_pages {
    struct qmpi_elf_range {
        char *start;
        size_t size;
    } * opened;
    int count;
    char *writable; /* the last page that was found or made writable */
    size_t page_size;
};

/* Makes the page of an aligned pointer at `place` writable. Returns false and sets errno on
 * failure. */
bool qmpi_elf_pages_open(struct qmpi_elf_pages *pages, const void *place);

/* Makes the opened pages read-only again. */
void qmpi_elf_pages_close(struct qmpi_elf_pages *pages);

#endif
