/* SPDX-License-Identifier: MIT */
/* See copies.h. */
#define _GNU_SOURCE
#include "copies.h"

#include "elf_file.h"
#include "group.h"
#include "message.h"
#include "temporary.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *file_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The file of a loaded object that a hosted layer has and that answers to this DT_NEEDED name. */
static const char *claimed_path(const char *needed)
{
    for (struct qmpi_group *group = qmpi_group_first(); group; group = group->next) {
        for (int i = 0; i < group->count; i++) {
            const struct qmpi_elf_loaded *object = &group->objects[i];
            const char *soname = qmpi_elf_soname(&object->image);
            if (!strcmp(soname ? soname : file_part(object->name), needed))
                return object->name;
        }
    }
    return NULL;
}

int qmpi_copies_needed(const char *path)
{
    struct qmpi_elf_file file;
    int found = 0;
    if (qmpi_elf_file_open(path, &file))
        return 0;
    const char *needed;
    for (int i = 0; (needed = qmpi_elf_needed(&file.image, i)); i++)
        found |= claimed_path(needed) != NULL;
    qmpi_elf_file_close(&file);
    return found;
}

/* ---- Names inside a copy ------------------------------------------------------------------------
 */

/* Whether nothing else in the string table shares the text at `offset`: linkers merge suffixes. */
static bool stands_alone(const struct qmpi_elf_image *image, size_t offset, size_t length)
{
    if (offset == 0 || image->strings[offset - 1] != '\0')
        return false;
    for (size_t i = 0; i < image->symbol_count; i++) {
        const size_t at = image->symbols[i].st_name;
        if (at >= offset && at < offset + length)
            return false;
    }
    return true;
}

/* A name of the same length that no other library has. */
static char *other_name(const char *name)
{
    static int copies;
    char number[16];
    char *other = qmpi_copy(name);
    const int digits = snprintf(number, sizeof number, "~%05d", ++copies);
    memcpy(other, number, (size_t)digits);
    return other;
}

/* Overwrites a name that the dynamic section of `file` gives at `tag`, in the copy behind
 * `descriptor`. */
static bool rename_in_copy(const struct qmpi_elf_file *file, int descriptor, const char *name,
                           const char *other)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < file->image.dynamic_count; i++) {
        const ElfW(Dyn) *entry = &file->image.dynamic[i];
        if (entry->d_tag != DT_NEEDED && entry->d_tag != DT_SONAME)
            continue;
        if (strcmp(qmpi_elf_string(&file->image, entry->d_un.d_val), name) != 0)
            continue;
        if (length < 6 || !stands_alone(&file->image, entry->d_un.d_val, length))
            return false;
        const off_t at = file->image.strings + entry->d_un.d_val - (const char *)file->map;
        return pwrite(descriptor, other, length, at) == (ssize_t)length;
    }
    return false;
}

static bool overwrite(const struct qmpi_elf_file *file, int descriptor, const void *place,
                      const void *bytes, size_t size)
{
    const off_t at = (const char *)place - (const char *)file->map;
    return pwrite(descriptor, bytes, size, at) == (ssize_t)size;
}

/*
 * A copy must use its own data. Its original may be in the global scope, where the loader looks
 * first, so the copy is made to look in itself first (as if linked with -Bsymbolic).
 */
static bool bind_to_itself(const struct qmpi_elf_file *file, int descriptor)
{
    const ElfW(Dyn) *entries = file->image.dynamic;
    const size_t count = file->image.dynamic_count;
    const ElfW(Dyn) symbolic = {.d_tag = DT_SYMBOLIC};
    for (size_t i = 0; i < count; i++) {
        ElfW(Dyn) flags = entries[i];
        flags.d_un.d_val |= DF_SYMBOLIC;
        if (entries[i].d_tag == DT_SYMBOLIC)
            return true;
        if (entries[i].d_tag == DT_FLAGS)
            return overwrite(file, descriptor, &entries[i], &flags, sizeof flags);
    }
    /* The first terminator can go where another follows. */
    if (count + 1 < file->dynamic_room && entries[count + 1].d_tag == DT_NULL)
        return overwrite(file, descriptor, &entries[count], &symbolic, sizeof symbolic);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].d_tag == DT_RELACOUNT) /* only makes loading quicker */
            return overwrite(file, descriptor, &entries[i], &symbolic, sizeof symbolic);
    }
    return false;
}

/* ---- Copying ------------------------------------------------------------------------------------
 */

static bool write_file(int descriptor, const char *data, size_t size)
{
    while (size) {
        const ssize_t written = write(descriptor, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

static char *copy_library(const char *path, const char *soname, char **problem);

/* Copies and loads the dependencies of `file` that other layers have; renames them in the copy. */
static char *copy_dependencies(const struct qmpi_elf_file *file, int descriptor)
{
    const char *needed;
    for (int i = 0; (needed = qmpi_elf_needed(&file->image, i)); i++) {
        const char *path = claimed_path(needed);
        if (!path)
            continue;
        char *other = strlen(needed) < 6 ? qmpi_copy(needed) : other_name(needed);
        char *problem = NULL;
        char *copy = copy_library(path, other, &problem);
        if (copy && !rename_in_copy(file, descriptor, needed, other))
            problem = qmpi_format("its dependency %s cannot be loaded twice", path);
        else if (copy && !dlopen(copy, RTLD_LAZY | RTLD_LOCAL))
            problem = qmpi_format("a copy of its dependency cannot be loaded: %s", dlerror());
        free(copy);
        free(other);
        if (problem)
            return problem;
    }
    return NULL;
}

/* Copies one library; `soname` (NULL: leave it) is the copy's own name for the loader. */
static char *copy_library(const char *path, const char *soname, char **problem)
{
    struct qmpi_elf_file file;
    const char *reason = qmpi_elf_file_open(path, &file);
    if (reason) {
        *problem = qmpi_format("%s: %s", path, reason);
        return NULL;
    }
    int descriptor;
    char *copy = qmpi_temporary_file(file_part(path), &descriptor, problem);
    if (copy && !write_file(descriptor, file.map, file.size))
        *problem = qmpi_format("%s cannot be written: %s\nmend: set TMPDIR to a folder with room",
                               copy, strerror(errno));
    if (copy && !*problem && soname) {
        const char *own = qmpi_elf_soname(&file.image);
        if (!own || !rename_in_copy(&file, descriptor, own, soname))
            *problem = qmpi_format("%s cannot be loaded twice: it has no soname of its own", path);
    }
    if (copy && !*problem && !bind_to_itself(&file, descriptor))
        *problem =
            qmpi_format("%s cannot be loaded twice: its dynamic section has no room\nmend: link "
                        "it with -Bsymbolic",
                        path);
    if (copy && !*problem)
        *problem = copy_dependencies(&file, descriptor);
    if (copy)
        close(descriptor);
    qmpi_elf_file_close(&file);
    if (*problem) {
        free(copy);
        return NULL;
    }
    qmpi_debug(QMPI_TOPIC_LOAD, "%s is copied to %s", path, copy);
    return copy;
}

char *qmpi_copies_make(const char *path, char **problem)
{
    *problem = NULL;
    return copy_library(path, NULL, problem);
}
