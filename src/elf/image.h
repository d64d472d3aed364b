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

/* Returns the text at `offset` of the string table; "" if the offset is invalid. */
static inline const char *qmpi_elf_string(const struct qmpi_elf_image *image, size_t offset)
{
    return offset < image->string_size ? image->strings + offset : "";
}

/* Returns the number of symbols. For a loaded object, this takes a pass through its hash table. */
size_t qmpi_elf_symbol_count(const struct qmpi_elf_image *image);

/* Returns the value of a dynamic tag; `otherwise` if it is absent. */
uint64_t qmpi_elf_tag(const struct qmpi_elf_image *image, int64_t tag, uint64_t otherwise);

/* Returns the DT_NEEDED name with this index, from 0; NULL after the last one. */
const char *qmpi_elf_needed(const struct qmpi_elf_image *image, int index);

/* Returns the DT_SONAME; NULL: none. */
const char *qmpi_elf_soname(const struct qmpi_elf_image *image);

/* Whether a symbol is a function or object that this object defines and exports. */
static inline bool qmpi_elf_defines(const ElfW(Sym) * symbol)
{
    const int bind = ELF64_ST_BIND(symbol->st_info);
    const int type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK) &&
           (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

/* Returns the number of symbols according to a DT_GNU_HASH table; 0 if the table is empty. */
size_t qmpi_elf_count_hashed(const uint32_t *gnu_hash, size_t limit);

#endif
