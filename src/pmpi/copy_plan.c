/* SPDX-License-Identifier: MIT */
/* See copy_plan.h. */
#define _GNU_SOURCE
#include "pmpi/copy_plan.h"

#include "elf/elf.h"
#include "pmpi/closure.h"
#include "pmpi/copies_made.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct plan {
    const struct qmpi_copies *copies;
    struct qmpi_library *first, *last;
    const struct qmpi_closure *closure;
};

static const char *file_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static struct qmpi_library *find_library(const struct plan *plan, const struct stat *status)
{
    struct qmpi_library *library = plan->first;
    while (library && (library->device != status->st_dev || library->file != status->st_ino))
        library = library->next;
    return library;
}

static struct qmpi_library *add_library(struct plan *plan, const char *path,
                                        const struct stat *status)
{
    struct qmpi_library *library = qmpi_allocate(1, sizeof *library);
    library->path = qmpi_copy(path);
    library->device = status->st_dev;
    library->file = status->st_ino;
    library->is_private = true;
    const char *copy = qmpi_copies_find(plan->copies->layer, path);
    library->copied = library->made = copy != NULL;
    library->copy = copy ? qmpi_copy(copy) : NULL;
    if (plan->last)
        plan->last->next = library;
    else
        plan->first = library;
    plan->last = library;
    return library;
}

/* As qmpi_is_mpi has it of an object that is loaded. */
static bool is_mpi_file(const struct qmpi_elf_image *image)
{
    static const char *const marks[] = {"PMPI_Get_library_version",
                                        "QMPIX_Get_function",
                                        "pmpi_init_",
                                        "pmpi_init__",
                                        "pmpi_init",
                                        "PMPI_INIT",
                                        "pmpi_init_f08_",
                                        "mpi_init_f08_"};
    enum { LIBRARIES = 2 }; /* the others are bindings', unless MPI's own function is there too */
    bool library = false, binding = false, whole = false;
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
        const char *name = qmpi_elf_string(image, image->symbols[i].st_name);
        if ((strncmp(name, "PMPI", 4) && strncmp(name, "pmpi", 4) && strncmp(name, "mpi_", 4) &&
             strncmp(name, "MPI_", 4) && strncmp(name, "QMPIX", 5)) ||
            !qmpi_elf_defines(&image->symbols[i]))
            continue;
        whole |= !strcmp(name, "MPI_Init");
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
            if (!strcmp(name, marks[k])) {
                library |= k < LIBRARIES;
                binding |= k >= LIBRARIES;
            }
        }
    }
    return library || (binding && !whole);
}

static void add_needs(struct plan *plan, struct qmpi_library *library,
                      const struct qmpi_elf_image *image);

static struct qmpi_library *add_loaded(struct plan *plan, const struct qmpi_closure_object *found)
{
    struct stat status;
    const char *path = found->object.name;
    if (found->mpi || found->runtime || found->base || !*path || stat(path, &status) != 0)
        return NULL;
    struct qmpi_library *library = find_library(plan, &status);
    if (library)
        return library;
    library = add_library(plan, path, &status);
    if (library->made)
        return library;
    library->loaded = true;
    library->is_private = !found->programs;
    library->calls_mpi = qmpi_mpi_symbols_any(&found->object.image);
    add_needs(plan, library, &found->object.image);
    return library;
}

static struct qmpi_library *add_file(struct plan *plan, const char *path)
{
    struct stat status;
    struct qmpi_elf_file file;
    if (stat(path, &status) != 0)
        return NULL;
    struct qmpi_library *library = find_library(plan, &status);
    if (library || qmpi_elf_file_open(path, &file))
        return library;
    if (!plan->first || !is_mpi_file(&file.image)) {
        library = add_library(plan, path, &status);
        library->calls_mpi = qmpi_mpi_symbols_any(&file.image);
        if (!library->made)
            add_needs(plan, library, &file.image);
    }
    qmpi_elf_file_close(&file);
    return library;
}

static struct qmpi_library *add_needed(struct plan *plan, const struct qmpi_library *requirer,
                                       const struct qmpi_elf_image *image, const char *name)
{
    const int index = qmpi_closure_find(plan->closure, name);
    if (index >= 0)
        return add_loaded(plan, &plan->closure->objects[index]);
    if (qmpi_runtime_is(file_part(name)))
        return NULL;
    char *path = qmpi_search(image, requirer->path, name);
    struct qmpi_library *library = path ? add_file(plan, path) : NULL;
    free(path);
    return library;
}

static void add_needs(struct plan *plan, struct qmpi_library *library,
                      const struct qmpi_elf_image *image)
{
    while (qmpi_elf_needed(image, library->need_count))
        library->need_count++;
    library->needs = qmpi_allocate((size_t)library->need_count + 1, sizeof *library->needs);
    for (int i = 0; i < library->need_count; i++) {
        const char *name = qmpi_elf_needed(image, i);
        library->needs[i].name = qmpi_copy(name);
        library->needs[i].library = add_needed(plan, library, image, name);
    }
}

static void add_all(void *data, struct qmpi_closure *closure)
{
    struct plan *plan = data;
    plan->closure = closure;
    add_file(plan, plan->copies->path);
}

static bool needs_copied(const struct qmpi_library *library)
{
    bool found = false;
    for (int i = 0; i < library->need_count && !found; i++)
        found = library->needs[i].library && library->needs[i].library->copied;
    return found;
}

static void choose(const struct plan *plan)
{
    const bool again = plan->copies->layer->again;
    plan->first->loaded = again;
    for (struct qmpi_library *library = plan->first; library; library = library->next) {
        const bool itself = library == plan->first && !plan->copies->opened;
        library->copied |= (library->calls_mpi && !itself) || (again && library->is_private);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (struct qmpi_library *library = plan->first; library; library = library->next) {
            if (!library->copied && needs_copied(library))
                library->copied = changed = true;
        }
    }
}

struct qmpi_library *qmpi_copy_plan_make(const struct qmpi_copies *copies)
{
    struct plan plan = {copies, NULL, NULL, NULL};
    qmpi_closure_use(copies->path, add_all, &plan);
    if (plan.first) {
        choose(&plan);
    } else { /* why not will be said when it is opened */
        const struct stat nothing = {.st_dev = 0};
        add_library(&plan, copies->path, &nothing);
    }
    return plan.first;
}

void qmpi_copy_plan_free(struct qmpi_library *first)
{
    while (first) {
        struct qmpi_library *next = first->next;
        for (int i = 0; i < first->need_count; i++)
            free(first->needs[i].name);
        free(first->needs);
        free(first->path);
        free(first->copy);
        free(first);
        first = next;
    }
}
