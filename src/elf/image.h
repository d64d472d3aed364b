/* SPDX-License-Identifier: MIT */
/*
 * The dynamic part of an ELF object: symbols, hash table, needed libraries. The same view serves a
 * file that is mapped for inspection before it is loaded and an object that the dynamic loader has
 * loaded (loaded.h); only the conversion of an address to a pointer differs.
 */
#ifndef QMPI_ELF_IMAGE_H
#define QMPI_ELF_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct qmpi_elf_image {
    const ElfW(Dyn) * dynamic;
    size_t dynamic_count;
    const ElfW(Sym) * symbols;
    size_t symbol_count; /* 0: not counted yet, see qmpi_elf_symbol_count */
    const char *strings;
    size_t string_size;
    const uint32_t *gnu_hash; /* set for loaded objects only; NULL: none */
};

/* Returns the text at `offset` of the string table; "" if the offset is invalid. */
static inline const char *qmpi_elf_string(const struct qmpi_elf_image *image, size_t offset)
{
    return offset < image->string_size ? image->strings + offset : "";
}

/* Returns the number of symbols. For a loaded object without DT_HASH, this takes time, because all
 * buckets of the DT_GNU_HASH table are read. */
size_t qmpi_elf_symbol_count(const struct qmpi_elf_image *image);

/* Returns the value of a dynamic tag; `otherwise` if it is absent. */
uint64_t qmpi_elf_tag(const struct qmpi_elf_image *image, int64_t tag, uint64_t otherwise);

/* Returns the DT_NEEDED name with this index, from 0; NULL after the last one. */
const char *qmpi_elf_needed(const struct qmpi_elf_image *image, int index);

/* Returns the DT_SONAME; NULL: none. */
const char *qmpi_elf_soname(const struct qmpi_elf_image *image);

/* Whether a symbol is a function or variable that this object defines and exports; a symbol without
 * a type counts, too. */
static inline bool qmpi_elf_defines(const ElfW(Sym) * symbol)
{
    const int bind = ELF64_ST_BIND(symbol->st_info);
    const int type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK) &&
           (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

/* ---- Hash table ------------------------------------------------------------------------------ */

/* Look-ups in a DT_GNU_HASH table are inline, and the header of the table is decoded once, because
 * callers look up hundreds of names while a program starts. */

/* A name and its hash as in DT_GNU_HASH tables. */
struct qmpi_elf_name {
    const char *name;
    uint32_t hash;
};

/* Returns the hash of a name. */
static inline uint32_t qmpi_elf_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

struct qmpi_elf_table {
    const ElfW(Addr) * bloom;
    const uint32_t *buckets, *chains;
    uint32_t bucket_count, first, bloom_size, bloom_shift;
};

/* Returns the parts of the table of a loaded object, which must have one. */
static inline struct qmpi_elf_table qmpi_elf_table_of(const struct qmpi_elf_image *image)
{
    const uint32_t *words = image->gnu_hash;
    struct qmpi_elf_table table = {.bloom = (const void *)(words + 4),
                                   .bucket_count = words[0],
                                   .first = words[1],
                                   .bloom_size = words[2],
                                   .bloom_shift = words[3]};
    table.buckets = (const void *)(table.bloom + table.bloom_size);
    table.chains = table.buckets + table.bucket_count;
    return table;
}

/* Whether the object may define a symbol of this name. False for most names that it does not
 * define, which saves their look-up. */
static inline bool qmpi_elf_table_may_have(const struct qmpi_elf_table table,
                                           const struct qmpi_elf_name name)
{
    enum { BITS = sizeof(ElfW(Addr)) * 8 };
    if (!table.bloom_size)
        return false;
    const ElfW(Addr) word = table.bloom[(name.hash / BITS) % table.bloom_size];
    return (word >> (name.hash % BITS)) & (word >> ((name.hash >> table.bloom_shift) % BITS)) & 1;
}

/* Returns the symbol of this name that the object defines; NULL: none. */
static inline const ElfW(Sym) * qmpi_elf_table_find(const struct qmpi_elf_image *image,
                                                    const struct qmpi_elf_table table,
                                                    const struct qmpi_elf_name name)
{
    if (!table.bucket_count)
        return NULL;
    uint32_t i = table.buckets[name.hash % table.bucket_count];
    if (i < table.first)
        return NULL;
    for (;; i++) {
        const uint32_t chained = table.chains[i - table.first];
        const ElfW(Sym) *symbol = &image->symbols[i];
        if ((chained | 1) == (name.hash | 1) && qmpi_elf_defines(symbol) &&
            !strcmp(qmpi_elf_string(image, symbol->st_name), name.name))
            return symbol;
        if (chained & 1)
            return NULL;
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* The file of a library or program that is inspected. No code of the file runs. */
struct qmpi_elf_file {
    struct qmpi_elf_image image;
    void *map;
    size_t size;
};

/*
 * Maps `path` and checks whether it is complete, because the loader crashes with a truncated file,
 * and whether it is for this machine. Returns NULL if it is a complete shared library; the caller
 * closes `file`. Otherwise returns the reason (a text that the caller does not free), and `file` is
 * not open.
 */
const char *qmpi_elf_file_open(const char *path, struct qmpi_elf_file *file);

/* The same for the file of a program; a shared library is accepted, too. The hash table and the
 * relocations are not checked. */
const char *qmpi_elf_file_open_program(const char *path, struct qmpi_elf_file *file);

/* Whether two paths lead to the same file. */
bool qmpi_elf_file_same(const char *one, const char *other);

/* Returns the file offset of a virtual address, and sets *left to the number of bytes from there to
 * the end of the segment in the file. If the address is not in the file, both are 0. */
uint64_t qmpi_elf_file_offset(const struct qmpi_elf_file *file, uint64_t address, uint64_t *left);

void qmpi_elf_file_close(struct qmpi_elf_file *file);

#endif
