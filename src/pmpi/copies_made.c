/* SPDX-License-Identifier: MIT */
/* See copies_made.h. */
#define _GNU_SOURCE
#include "pmpi/copies_made.h"

#include "registry/registry.h"
#include "util/util.h"

#include <string.h>
#include <sys/stat.h>

/* A copy that was made, for the run. */
struct made {
    char *copy, *original;
    char *soname; /* the original's; NULL: it has none */
    dev_t device;
    ino_t file;
    struct made *next;
};

static struct made *all_made; /* grows only */

static const char *file_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const struct made *find_made(const char *copy)
{
    const struct made *made = __atomic_load_n(&all_made, __ATOMIC_ACQUIRE);
    while (made && strcmp(made->copy, copy) != 0)
        made = made->next;
    return made;
}

const char *qmpi_copies_original(const char *path)
{
    const struct made *made = find_made(path);
    return made ? made->original : path;
}

static bool answers(const struct made *made, const char *name, const struct stat *status)
{
    if (!strchr(name, '/'))
        return !strcmp(name, file_part(made->original)) ||
               (made->soname && !strcmp(name, made->soname));
    return !strcmp(name, made->copy) ||
           (status->st_dev == made->device && status->st_ino == made->file);
}

const char *qmpi_copies_find(const struct qmpi_layer *layer, const char *name)
{
    struct stat status = {.st_ino = 0};
    if (strchr(name, '/'))
        stat(name, &status);
    for (const struct qmpi_group *group = qmpi_group_first(); group; group = group->next) {
        for (int i = 0; group->layer == layer && i < group->count; i++) {
            const struct made *made = find_made(group->objects[i].name);
            if (made && answers(made, name, &status))
                return made->copy;
        }
    }
    return NULL;
}

void qmpi_copies_add(const char *copy, const char *path, dev_t device, ino_t file,
                     const char *soname)
{
    struct made *made = qmpi_allocate(1, sizeof *made);
    *made = (struct made){.copy = qmpi_copy(copy),
                          .original = qmpi_copy(path),
                          .soname = soname ? qmpi_copy(soname) : NULL,
                          .device = device,
                          .file = file,
                          .next = all_made};
    __atomic_store_n(&all_made, made, __ATOMIC_RELEASE);
}
