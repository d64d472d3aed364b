/* SPDX-License-Identifier: MIT */
/* See library_copy.h. */
#define _GNU_SOURCE
#include "pmpi/library_copy.h"

#include "elf/copy.h"
#include "pmpi/copy_plan.h"
#include "pmpi/tmpdir.h"
#include "registry/layer.h"
#include "registry/objects.h"
#include "util/lock.h"
#include "util/message.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Under the lock. */
static void note_made(const struct qmpi_library *library, const struct qmpi_elf_file *file)
{
    const char *soname = qmpi_elf_soname(&file->image);
    struct made *made = qmpi_allocate(1, sizeof *made);
    *made = (struct made){.copy = qmpi_copy(library->copy),
                          .original = qmpi_copy(library->path),
                          .soname = soname ? qmpi_copy(soname) : NULL,
                          .device = library->device,
                          .file = library->file,
                          .next = all_made};
    __atomic_store_n(&all_made, made, __ATOMIC_RELEASE);
}

static const char *other_name(void *data, const char *name)
{
    const struct qmpi_library *library = data;
    for (int i = 0; i < library->need_count; i++) {
        const struct qmpi_library *needed = library->needs[i].library;
        if (needed && needed->copied && !strcmp(library->needs[i].name, name))
            return needed->copy;
    }
    return NULL;
}

/* As it is wherever the process goes. */
static char *folder_of(const char *path)
{
    char *whole = realpath(path, NULL);
    char *folder = qmpi_copy(whole ? whole : path);
    free(whole);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return folder;
}

static char *write_copy(const struct qmpi_library *library, int descriptor)
{
    struct qmpi_elf_file file;
    const char *reason = qmpi_elf_file_open(library->path, &file);
    if (reason)
        return qmpi_message("%s: %s\nhint: install it again", library->path, reason);
    char *origin = folder_of(library->path);
    const struct qmpi_elf_copy copy = {.needed = other_name,
                                       .data = (void *)library,
                                       .origin = origin,
                                       .symbolic = library->loaded};
    reason = qmpi_elf_copy_write(&file, descriptor, &copy);
    if (!reason)
        note_made(library, &file);
    free(origin);
    qmpi_elf_file_close(&file);
    return reason ? qmpi_message("%s cannot be written: %s\nhint: set TMPDIR to a folder with room",
                                 library->copy, reason)
                  : NULL;
}

/* All files first: libraries may need each other. */
static char *make_files(struct qmpi_library *first)
{
    char *problem = NULL;
    for (struct qmpi_library *library = first; library && !problem; library = library->next) {
        if (!library->copied || library->copy)
            continue;
        library->descriptor = -1;
        library->copy =
            qmpi_temporary_file(file_part(library->path), &library->descriptor, &problem);
    }
    for (struct qmpi_library *library = first; library; library = library->next) {
        if (!library->copy || library->made)
            continue;
        if (!problem)
            problem = write_copy(library, library->descriptor);
        close(library->descriptor);
        if (!problem)
            qmpi_debug(QMPI_TOPIC_LOAD, "%s is copied to %s", library->path, library->copy);
    }
    return problem;
}

QMPI_LOCK(lock);

char *qmpi_copies_make(struct qmpi_copies *copies, char **problem)
{
    struct qmpi_library *libraries = qmpi_copy_plan_make(copies);
    pthread_mutex_lock(&lock);
    *problem = make_files(libraries);
    pthread_mutex_unlock(&lock);
    copies->shares = false;
    copies->needed = copies->layer->again;
    for (const struct qmpi_library *library = libraries; library; library = library->next) {
        copies->shares |= library != libraries && library->copied;
        copies->needed |= library->copied && library->loaded;
    }
    char *path = *problem ? NULL : qmpi_copy(libraries->copy ? libraries->copy : copies->path);
    qmpi_copy_plan_free(libraries);
    return path;
}
