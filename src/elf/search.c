/* SPDX-License-Identifier: MIT */
/* See search.h. */
#define _GNU_SOURCE
#include "elf/search.h"

#include "elf/arch/machine.h"
#include "util/util.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The loader's cache ---------------------------------------------------------------------- */

/*
 * The cache of the loader, which offers no function for reading it. The format is glibc's "1.1",
 * the default since release 2.32. Earlier releases write a cache in the old format before it, which
 * is skipped; a cache in another format is ignored.
 */
struct cache_header {
    char magic[20]; /* "glibc-ld.so.cache1.1" */
    uint32_t count;
    uint32_t string_size;
    uint32_t unused[5];
};

struct cache_row {
    int32_t flags;
    uint32_t key; /* the name; `key` and `path` are offsets from the beginning of the header */
    uint32_t path;
    uint32_t os_version;
    uint64_t hardware;
};

/* The old format: rows follow the header, and the "1.1" format begins at a multiple of 8 bytes. */
struct old_cache_header {
    char magic[12]; /* "ld.so-1.7.0" */
    uint32_t count;
};

enum { OLD_ROW_SIZE = 12 };

static const char *text_at(const char *map, size_t size, uint32_t offset)
{
    return offset < size && memchr(map + offset, '\0', size - offset) ? map + offset : "";
}

/* Returns the size of the part in the old format; 0: there is none. */
static size_t skip_old_cache(const char *map, size_t size)
{
    const struct old_cache_header *header = (const void *)map;
    if (size < sizeof *header || memcmp(header->magic, "ld.so-1.7.0", 11) != 0 ||
        header->count > (size - sizeof *header) / OLD_ROW_SIZE)
        return 0;
    const size_t end = (sizeof *header + (size_t)header->count * OLD_ROW_SIZE + 7) & ~(size_t)7;
    return end < size ? end : 0;
}

static char *find_in_cache(const char *map, size_t size, const char *name)
{
    /* Offsets are relative to the beginning of the "1.1" format. */
    const size_t skipped = skip_old_cache(map, size);
    map += skipped;
    size -= skipped;
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

char *qmpi_elf_search_cache(const char *name)
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
            path = find_in_cache(map, size, name);
            munmap(map, size);
        }
    }
    close(descriptor);
    return path;
}

/* ---- Directories ----------------------------------------------------------------------------- */

char *qmpi_elf_expand_origin(const char *text, const char *directory)
{
    static const char *const forms[] = {"$ORIGIN", "${ORIGIN}"};
    char *expanded = qmpi_copy("");
    while (*text) {
        const char *value = NULL;
        size_t length = 1;
        for (size_t i = 0; !value && i < sizeof forms / sizeof *forms; i++) {
            if (!strncmp(text, forms[i], strlen(forms[i]))) {
                value = directory;
                length = strlen(forms[i]);
            }
        }
        char *longer =
            value ? qmpi_format("%s%s", expanded, value) : qmpi_format("%s%c", expanded, *text);
        free(expanded);
        expanded = longer;
        text += length;
    }
    return expanded;
}

/* Returns the path of an existing file in a list of directories; NULL: not found. An empty element
 * is the current directory, also at the end of the list, but an empty list has no element. */
static char *find_in_list(const char *list, const char *separators, const char *name)
{
    for (bool more = list && *list; more;) {
        const size_t length = strcspn(list, separators);
        size_t folder = length;
        while (folder > 1 && list[folder - 1] == '/')
            folder--;
        char *path =
            length ? qmpi_format("%.*s/%s", (int)folder, list, name) : qmpi_format("./%s", name);
        if (access(path, F_OK) == 0)
            return path;
        free(path);
        more = list[length] != '\0';
        list += length + more;
    }
    return NULL;
}

static char *find_in_run_path(const struct qmpi_elf_image *image, const char *directory,
                              int64_t tag, const char *name)
{
    const uint64_t offset = qmpi_elf_tag(image, tag, UINT64_MAX);
    if (offset == UINT64_MAX)
        return NULL;
    char *list = qmpi_elf_expand_origin(qmpi_elf_string(image, offset), directory);
    char *path = find_in_list(list, ":", name);
    free(list);
    return path;
}

char *qmpi_elf_search(const struct qmpi_elf_image *image, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? qmpi_copy_part(path, (size_t)(slash - path)) : qmpi_copy(".");
    char *found;
    if (strchr(name, '/')) {
        found = qmpi_elf_expand_origin(name, directory);
    } else {
        const bool has_run_path = qmpi_elf_tag(image, DT_RUNPATH, UINT64_MAX) != UINT64_MAX;
        found = has_run_path ? NULL : find_in_run_path(image, directory, DT_RPATH, name);
        if (!found)
            found = find_in_list(secure_getenv("LD_LIBRARY_PATH"), ":;", name);
        if (!found)
            found = find_in_run_path(image, directory, DT_RUNPATH, name);
        if (!found)
            found = qmpi_elf_search_cache(name);
    }
    free(directory);
    return found;
}
