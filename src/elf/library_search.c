/* SPDX-License-Identifier: MIT */
/* See library_search.h. */
#define _GNU_SOURCE
#include "elf/library_search.h"

#include "elf/copy.h"
#include "elf/ld_cache.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name in a list of directories, if the file is there; an empty element is the current directory.
 */
static char *in_list(const char *list, const char *name)
{
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        size_t folder = length;
        while (folder > 1 && list[folder - 1] == '/')
            folder--;
        char *path =
            length ? qmpi_format("%.*s/%s", (int)folder, list, name) : qmpi_format("./%s", name);
        if (access(path, F_OK) == 0)
            return path;
        free(path);
        list += length + (list[length] == ':');
    }
    return NULL;
}

static char *in_run_path(const struct qmpi_elf_image *image, const char *directory, int64_t tag,
                         const char *name)
{
    const uint64_t offset = qmpi_elf_tag(image, tag, UINT64_MAX);
    if (offset == UINT64_MAX)
        return NULL;
    char *list = qmpi_elf_copy_expand(qmpi_elf_string(image, offset), directory);
    char *path = in_list(list, name);
    free(list);
    return path;
}

char *qmpi_search(const struct qmpi_elf_image *image, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? qmpi_copy_part(path, (size_t)(slash - path)) : qmpi_copy(".");
    char *found;
    if (strchr(name, '/')) {
        found = qmpi_elf_copy_expand(name, directory);
    } else {
        const bool has_run_path = qmpi_elf_tag(image, DT_RUNPATH, UINT64_MAX) != UINT64_MAX;
        found = has_run_path ? NULL : in_run_path(image, directory, DT_RPATH, name);
        if (!found)
            found = in_list(secure_getenv("LD_LIBRARY_PATH"), name);
        if (!found)
            found = in_run_path(image, directory, DT_RUNPATH, name);
        if (!found)
            found = ld_cache_find(name);
    }
    free(directory);
    return found;
}
