/* SPDX-License-Identifier: MIT */
/* See library_copy.h. */
#define _GNU_SOURCE
#include "pmpi/library_copy.h"

#include "elf/elf.h"
#include "pmpi/copies_made.h"
#include "pmpi/tmpdir.h"
#include "registry/registry.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *file_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
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
        return qmpi_message("%s: %s\n"
                            "hint: reinstall it",
                            library->path, reason);
    char *directory = folder_of(library->path);
    const struct qmpi_elf_copy copy = {.needed = other_name,
                                       .data = (void *)library,
                                       .directory = directory,
                                       .symbolic = library->loaded};
    reason = qmpi_elf_copy_write(&file, descriptor, &copy);
    if (!reason)
        qmpi_copies_add(library->copy, library->path, library->device, library->file,
                        qmpi_elf_soname(&file.image));
    free(directory);
    qmpi_elf_file_close(&file);
    return reason ? qmpi_message("cannot write %s: %s\n"
                                 "hint: set TMPDIR to a directory with free space",
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
