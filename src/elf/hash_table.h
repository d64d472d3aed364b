/* SPDX-License-Identifier: MIT */
/*
 * Look-ups in a DT_GNU_HASH table. They are inline, and the table is taken apart beforehand, for
 * those who look up hundreds of names while a program starts.
 */
#ifndef QMPI_ELF_HASH_TABLE_H
#define QMPI_ELF_HASH_TABLE_H

#include "elf/image.h"

#include <string.h>

/* A name and its hash as in these tables. */
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

/* Whether the object may define a symbol of this name. Saves most look-ups of names
 * that it does not. */
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

#endif
