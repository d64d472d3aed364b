/* SPDX-License-Identifier: MIT */
/*
 * See ld_cache.h. The loader offers no call for this; the file format is glibc's "1.1" format, the
 * only one that it has written by default since 2.32. A cache in another format is passed over.
 */
#define _GNU_SOURCE
#include "elf/ld_cache.h"

#include "elf/arch/machine.h"
#include "util/util.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct cache_header {
    char magic[20]; /* "glibc-ld.so.cache1.1" */
    uint32_t count;
    uint32_t string_size;
    uint32_t unused[5];
};

struct cache_row {
    int32_t flags;
    uint32_t key; /* offsets from the file's begin */
    uint32_t path;
    uint32_t os_version;
    uint64_t hardware;
};

static const char *text_at(const char *map, size_t size, uint32_t offset)
{
    return offset < size && memchr(map + offset, '\0', size - offset) ? map + offset : "";
}

static char *find_in(const char *map, size_t size, const char *name)
{
    const struct cache_header *header = (const void *)map;
    if (size < sizeof *header || memcmp(header->magic, "glibc-ld.so.cache1.1", 20) != 0 ||
        header->count > (size - sizeof *header) / sizeof(struct cache_row))
        return NULL;
    const struct cache_row *entries = (const void *)(header + 1);
    for (uint32_t i = 0; i < header->count; i++) {
        if (entries[i].flags == QMPI_LD_CACHE_FLAGS &&
            !strcmp(text_at(map, size, entries[i].key), name) &&
            access(text_at(map, size, entries[i].path), F_OK) == 0)
            return qmpi_copy(text_at(map, size, entries[i].path));
    }
    return NULL;
}

char *ld_cache_find(const char *name)
{
    const int descriptor = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0)
        return NULL;
    char *path = NULL;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
        const size_t size = (size_t)status.st_size;
        char *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (map != MAP_FAILED) {
            path = find_in(map, size, name);
            munmap(map, size);
        }
    }
    close(descriptor);
    return path;
}
