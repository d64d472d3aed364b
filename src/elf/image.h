/* SPDX-License-Identifier: MIT */
/*
 * The dynamic part of an ELF object: symbols, needed libraries. The same view serves a file that is
 * mapped for inspection before it is loaded (file.h) and an object that the dynamic loader has
 * loaded (loaded.h); only how an address becomes a pointer differs.
 */
#ifndef QMPI_ELF_IMAGE_H
#define QMPI_ELF_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qmpi_elf_image {
    const ElfW(Dyn) * dynamic;
    size_t dynamic_count;
    const ElfW(Sym) * symbols;
    size_t symbol_count; /* 0: not counted yet, see qmpi_elf_symbol_count */
    const char *strings;
    size_t string_size;
    const uint32_t *gnu_hash; /* NULL: none */
};

/* The text at `offset` of the string table; "" where there is none. */
static inline const char *qmpi_elf_string(const struct qmpi_elf_image *image, size_t offset)
{
    return offset < image->string_size ? image->strings + offset : "";
}

/* How many symbols there are. A loaded object tells only in its hash table, which is long. */
size_t qmpi_elf_symbol_count(const struct qmpi_elf_image *image);

/* The value of a dynamic tag; `otherwise` where it is absent. */
uint64_t qmpi_elf_tag(const struct qmpi_elf_image *image, int64_t tag, uint64_t otherwise);

/* The index-th DT_NEEDED name; NULL past the last one. */
const char *qmpi_elf_needed(const struct qmpi_elf_image *image, int index);

/* The DT_SONAME; NULL where there is none. */
const char *qmpi_elf_soname(const struct qmpi_elf_image *image);

/* Whether a symbol of the table is a function or object that this object defines for others. */
static inline bool qmpi_elf_defines(const ElfW(Sym) * symbol)
{
    const int bind = ELF64_ST_BIND(symbol->st_info);
    const int type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK) &&
           (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

/*
 * The hashes of the symbols from number *first on, which are those that the object defines for
 * others; their lowest bits mean something else. NULL: it has no such table.
 */
const uint32_t *qmpi_elf_hashes(const struct qmpi_elf_image *image, size_t *first);

/* The number of symbols that a DT_GNU_HASH table accounts for; 0 where it hashes none. */
size_t qmpi_elf_count_hashed(const uint32_t *gnu_hash, size_t limit);

#endif
