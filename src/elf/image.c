/* SPDX-License-Identifier: MIT */
/* See image.h. */
#include "elf/image.h"

uint64_t qmpi_elf_tag(const struct qmpi_elf_image *image, int64_t tag, uint64_t otherwise)
{
    for (size_t i = 0; i < image->dynamic_count; i++) {
        if (image->dynamic[i].d_tag == tag)
            return image->dynamic[i].d_un.d_val;
    }
    return otherwise;
}

const char *qmpi_elf_needed(const struct qmpi_elf_image *image, int index)
{
    for (size_t i = 0; i < image->dynamic_count; i++) {
        if (image->dynamic[i].d_tag == DT_NEEDED && index-- == 0)
            return qmpi_elf_string(image, image->dynamic[i].d_un.d_val);
    }
    return NULL;
}

const char *qmpi_elf_soname(const struct qmpi_elf_image *image)
{
    const uint64_t offset = qmpi_elf_tag(image, DT_SONAME, UINT64_MAX);
    return offset == UINT64_MAX ? NULL : qmpi_elf_string(image, offset);
}

size_t qmpi_elf_count_hashed(const uint32_t *gnu_hash, size_t limit)
{
    /* nbuckets, symoffset, bloom_size, bloom_shift, bloom words, buckets, chains */
    const uint32_t bucket_count = gnu_hash[0];
    const uint32_t first = gnu_hash[1];
    const uint64_t bloom_words = (uint64_t)gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint64_t chains_at = 4 + bloom_words + bucket_count;
    if (chains_at > limit)
        return 0;
    const uint32_t *buckets = gnu_hash + 4 + bloom_words;
    const uint32_t *chains = buckets + bucket_count;
    uint32_t last = 0;
    for (const uint32_t *bucket = buckets; bucket < chains; bucket++)
        last = *bucket > last ? *bucket : last;
    if (last < first)
        return 0;
    while (chains_at + (last - first) < limit && !(chains[last - first] & 1))
        last++;
    return (size_t)last + 1;
}

size_t qmpi_elf_symbol_count(const struct qmpi_elf_image *image)
{
    if (image->symbol_count || !image->gnu_hash)
        return image->symbol_count;
    return qmpi_elf_count_hashed(image->gnu_hash, SIZE_MAX);
}
