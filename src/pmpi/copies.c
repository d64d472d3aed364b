/* SPDX-License-Identifier: MIT */
/* See copies.h. */
#define _GNU_SOURCE
#include "pmpi/copies.h"

#include "elf/elf.h"
#include "pmpi/closure.h"
#include "pmpi/unique.h"
#include "process/process.h"
#include "registry/registry.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Libraries to be copied ------------------------------------------------------------------ */

struct library {
    char *path;
    struct stat status;
    bool loaded;     /* the original is in the process */
    bool calls_mpi;  /* it defines MPI functions or refers to them */
    bool is_private; /* only the tool needs it */
    bool copied;     /* it is to be copied, or the layer has a copy already */
    struct {
        char *name;
        struct library *library; /* NULL: it is never copied, or was not found */
    } * needs;
    int need_count;
    char *copy;   /* path of the copy; NULL: none yet */
    bool existed; /* the layer had this copy before */
    int descriptor;
    struct library *next;
};

struct plan {
    const struct qmpi_copies *copies;
    struct library *first, *last;
    const struct qmpi_closure *closure;
    char **others; /* paths of needed libraries that are never copied */
    int other_count;
    struct qmpi_unique unique; /* names that get private to the layer */
};

static struct library *find_planned_library(const struct plan *plan, const struct stat *status)
{
    struct library *library = plan->first;
    while (library &&
           (library->status.st_dev != status->st_dev || library->status.st_ino != status->st_ino))
        library = library->next;
    return library;
}

static struct library *add_library(struct plan *plan, const char *path, const struct stat *status)
{
    struct library *library = qmpi_allocate(1, sizeof *library);
    library->path = qmpi_copy(path);
    library->status = *status;
    library->is_private = true;
    const char *copy = qmpi_copies_find(plan->copies->layer, path);
    library->copied = library->existed = copy != NULL;
    library->copy = copy ? qmpi_copy(copy) : NULL;
    if (plan->last)
        plan->last->next = library;
    else
        plan->first = library;
    plan->last = library;
    return library;
}

static void add_other(struct plan *plan, const char *path)
{
    for (int i = 0; i < plan->other_count; i++) {
        if (!strcmp(plan->others[i], path))
            return;
    }
    plan->others = qmpi_memory_grow(plan->others, plan->other_count, sizeof *plan->others);
    plan->others[plan->other_count++] = qmpi_copy(path);
}

static void add_library_needs(struct plan *plan, struct library *library,
                              const struct qmpi_elf_image *image);

static struct library *add_loaded_library(struct plan *plan,
                                          const struct qmpi_closure_object *found)
{
    struct stat status;
    const char *path = found->object.name;
    if (found->mpi || found->runtime || found->mpi_needs) {
        add_other(plan, path);
        return NULL;
    }
    if (!*path || stat(path, &status) != 0)
        return NULL;
    struct library *library = find_planned_library(plan, &status);
    if (library)
        return library;
    library = add_library(plan, path, &status);
    if (library->existed)
        return library;
    library->loaded = true;
    library->is_private = !found->program_needs;
    library->calls_mpi = qmpi_object_uses_mpi(&found->object.image);
    add_library_needs(plan, library, &found->object.image);
    return library;
}

static struct library *add_library_file(struct plan *plan, const char *path)
{
    struct stat status;
    struct qmpi_elf_file file;
    if (stat(path, &status) != 0)
        return NULL;
    struct library *library = find_planned_library(plan, &status);
    if (library || qmpi_elf_file_open(path, &file))
        return library;
    if (!plan->first || !qmpi_object_file_is_mpi(&file.image)) {
        library = add_library(plan, path, &status);
        library->calls_mpi = qmpi_object_uses_mpi(&file.image);
        if (!library->existed)
            add_library_needs(plan, library, &file.image);
    }
    qmpi_elf_file_close(&file);
    return library;
}

static struct library *add_needed_library(struct plan *plan, const struct library *requirer,
                                          const struct qmpi_elf_image *image, const char *name)
{
    const int index = qmpi_closure_find(plan->closure, name);
    if (index >= 0)
        return add_loaded_library(plan, &plan->closure->objects[index]);
    char *path = qmpi_elf_search(image, requirer->path, name);
    struct library *library = NULL;
    if (path && qmpi_runtime_is(qmpi_text_base_name(name)))
        add_other(plan, path);
    else if (path)
        library = add_library_file(plan, path);
    free(path);
    return library;
}

static void add_library_needs(struct plan *plan, struct library *library,
                              const struct qmpi_elf_image *image)
{
    while (qmpi_elf_needed(image, library->need_count))
        library->need_count++;
    library->needs = qmpi_allocate((size_t)library->need_count + 1, sizeof *library->needs);
    for (int i = 0; i < library->need_count; i++) {
        const char *name = qmpi_elf_needed(image, i);
        library->needs[i].name = qmpi_copy(name);
        library->needs[i].library = add_needed_library(plan, library, image, name);
    }
}

static void plan_closure(void *data, struct qmpi_closure *closure)
{
    struct plan *plan = data;
    plan->closure = closure;
    add_library_file(plan, plan->copies->path);
}

static bool needs_copied(const struct library *library)
{
    bool found = false;
    for (int i = 0; i < library->need_count && !found; i++)
        found = library->needs[i].library && library->needs[i].library->copied;
    return found;
}

/* Marks the libraries to be copied. */
static void choose_libraries(const struct plan *plan)
{
    const bool again = plan->copies->layer->again;
    plan->first->loaded = again;
    for (struct library *library = plan->first; library; library = library->next) {
        const bool itself = library == plan->first && !plan->copies->opened;
        library->copied |= (library->calls_mpi && !itself) || (again && library->is_private);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (struct library *library = plan->first; library; library = library->next) {
            if (!library->copied && needs_copied(library))
                library->copied = changed = true;
        }
    }
}

static bool is_new_copy(const struct library *library)
{
    return library->copied && !library->existed;
}

/* Finds the names of unique symbols that get private to the layer (unique.h). */
static void choose_names(struct plan *plan)
{
    bool any = false;
    for (const struct library *library = plan->first; library; library = library->next) {
        if (is_new_copy(library))
            qmpi_unique_add(&plan->unique, library->path);
        any |= is_new_copy(library);
    }
    if (!any)
        return;
    qmpi_unique_add_layer(&plan->unique, plan->copies->layer);
    for (const struct library *library = plan->first; library; library = library->next) {
        if (!library->copied)
            qmpi_unique_remove(&plan->unique, library->path);
    }
    for (int i = 0; i < plan->other_count; i++)
        qmpi_unique_remove(&plan->unique, plan->others[i]);
}

/* Finds the closure of the library to be opened, which comes first. */
static void plan_copies(struct plan *plan)
{
    qmpi_closure_use(plan->copies->path, plan_closure, plan);
    if (plan->first) {
        choose_libraries(plan);
        choose_names(plan);
    } else { /* dlopen will report the reason */
        const struct stat nothing = {.st_dev = 0};
        add_library(plan, plan->copies->path, &nothing);
    }
}

static void free_plan(struct plan *plan)
{
    struct library *first = plan->first;
    for (int i = 0; i < plan->other_count; i++)
        free(plan->others[i]);
    free(plan->others);
    qmpi_unique_free(&plan->unique);
    while (first) {
        struct library *next = first->next;
        for (int i = 0; i < first->need_count; i++)
            free(first->needs[i].name);
        free(first->needs);
        free(first->path);
        free(first->copy);
        free(first);
        first = next;
    }
}

/* ---- The temporary directory ----------------------------------------------------------------- */

/*
 * A destructor removes the directory at a normal end. A rank that is killed, like the other ranks
 * of a job that aborts, cannot do that, so `qmpi-helper cleanup` (util/cleanup.c) waits for its
 * end. If this helper is killed, too, the next helper of this user removes the directory.
 */
static struct qmpi_directory folder; /* path is NULL until it exists */
static pid_t owner;                  /* the process that created it: forked children must not remove
                                        it */
static int file_count;               /* the number of files created in it */

__attribute__((destructor)) static void remove_directory(void)
{
    if (folder.path && owner == getpid())
        qmpi_directory_remove(&folder);
}

static void forget_directory(void)
{
    remove_directory();
    folder = (struct qmpi_directory){.path = NULL};
    file_count = 0;
}

/* Returns the directory for temporary files. A relative path is refused, because its meaning
 * changes when the program changes its working directory. */
static const char *temporary_root(void)
{
    const char *root = secure_getenv("TMPDIR");
    return root && *root == '/' ? root : "/tmp";
}

static void start_cleanup(void)
{
    const int end = qmpi_spawn_end_of_process();
    const int descriptors[] = {end, folder.lock, -1};
    char *program = qmpi_installation_find("qmpi-helper");
    char *device = qmpi_format("%llu", (unsigned long long)folder.device);
    char *inode = qmpi_format("%llu", (unsigned long long)folder.inode);
    char *const arguments[] = {program, "cleanup", folder.path, device, inode, NULL};
    if (end < 0 || !qmpi_spawn_detached(arguments, descriptors))
        qmpi_debug(QMPI_TOPIC_LOAD, "cannot start %s: if this process is killed, %s is not removed",
                   program, folder.path);
    if (end >= 0)
        close(end);
    free(program);
    free(device);
    free(inode);
}

static bool make_directory(char **problem)
{
    if (folder.path)
        return true;
    const char *root = temporary_root();
    const int error = qmpi_directory_make(&folder, root);
    if (error) {
        *problem =
            qmpi_message("a library must be copied, but no directory can be created in %s: %s\n"
                         "hint: set TMPDIR to a directory that you can write to",
                         root, strerror(error));
        return false;
    }
    owner = getpid();
    start_cleanup();
    return true;
}

/*
 * Creates a file `name` in a new subdirectory, and opens it for writing as *descriptor. Returns its
 * path, or NULL and sets *problem; the caller frees both.
 */
static char *create_copy_file(const char *name, int *descriptor, char **problem)
{
    if (!make_directory(problem))
        return NULL;
    char *subdirectory = qmpi_format("%s/%d", folder.path, ++file_count);
    char *path = qmpi_format("%s/%s", subdirectory, name);
    *descriptor = -1;
    if (mkdir(subdirectory, 0700) == 0)
        *descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (*descriptor < 0) {
        *problem = qmpi_message("cannot create %s: %s\n"
                                "hint: set TMPDIR to a directory with free space",
                                path, strerror(errno));
        free(path);
        path = NULL;
    }
    free(subdirectory);
    return path;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* A copy that is being written. */
struct writing_copy {
    const struct plan *plan;
    const struct library *library;
};

/* Returns the copy that the library needs in place of the library `name`; NULL: none. */
static const char *needed_copy(void *data, const char *name)
{
    const struct library *library = ((const struct writing_copy *)data)->library;
    for (int i = 0; i < library->need_count; i++) {
        const struct library *needed = library->needs[i].library;
        if (needed && needed->copied && !strcmp(library->needs[i].name, name))
            return needed->copy;
    }
    return NULL;
}

static bool is_private_name(void *data, const char *name)
{
    return qmpi_unique_has(&((const struct writing_copy *)data)->plan->unique, name);
}

/* Returns the absolute directory of a file, which does not depend on the working directory. */
static char *directory_of(const char *path)
{
    char *whole = realpath(path, NULL);
    char *directory = qmpi_copy(whole ? whole : path);
    free(whole);
    char *slash = strrchr(directory, '/');
    if (slash)
        *slash = '\0';
    return directory;
}

static char *write_copy(const struct plan *plan, const struct library *library)
{
    struct writing_copy writing = {plan, library};
    struct qmpi_output_signals signals;
    struct qmpi_elf_file file;
    const char *reason = qmpi_elf_file_open(library->path, &file);
    if (reason)
        return qmpi_message("%s: %s\n"
                            "hint: reinstall it",
                            library->path, reason);
    char *directory = directory_of(library->path);
    const struct qmpi_elf_copy copy = {.needed = needed_copy,
                                       .is_private = is_private_name,
                                       .data = &writing,
                                       .owner = plan->copies->layer->tool_id,
                                       .directory = directory,
                                       .symbolic = library->loaded};
    qmpi_output_signals_block(&signals);
    reason = qmpi_elf_copy_write(&file, library->descriptor, &copy);
    qmpi_output_signals_restore(&signals);
    if (!reason)
        qmpi_elf_copy_record(library->copy, library->path, &library->status,
                             qmpi_elf_soname(&file.image));
    free(directory);
    qmpi_elf_file_close(&file);
    return reason ? qmpi_message("cannot write %s: %s\n"
                                 "hint: set TMPDIR to a directory with free space",
                                 library->copy, reason)
                  : NULL;
}

/* Removes the copies and their directory after a failure of the first copying, because the process
 * may end before qmpi-helper has started. Removes file by file, because a recursive removal would
 * need several descriptors, and few may be left. */
static void remove_copies(const struct library *first)
{
    for (const struct library *library = first; library; library = library->next) {
        if (!library->copy || library->existed)
            continue;
        char *directory = qmpi_copy_part(
            library->copy, (size_t)(qmpi_text_base_name(library->copy) - library->copy) - 1);
        unlink(library->copy);
        rmdir(directory);
        free(directory);
    }
    forget_directory();
}

/* Creates all files before it writes any, because a copy contains the paths of the copies that it
 * needs, and libraries may need each other. */
static char *write_copies(const struct plan *plan)
{
    struct library *const first = plan->first;
    char *problem = NULL;
    const bool are_first = file_count == 0;
    for (struct library *library = first; library && !problem; library = library->next) {
        if (!library->copied || library->copy)
            continue;
        library->descriptor = -1;
        library->copy =
            create_copy_file(qmpi_text_base_name(library->path), &library->descriptor, &problem);
    }
    for (struct library *library = first; library; library = library->next) {
        if (!library->copy || library->existed)
            continue;
        if (!problem)
            problem = write_copy(plan, library);
        close(library->descriptor);
        if (!problem)
            qmpi_debug(QMPI_TOPIC_LOAD, "%s is copied to %s", library->path, library->copy);
    }
    if (problem && are_first)
        remove_copies(first);
    return problem;
}

QMPI_LOCK(lock);

static void release_lock(void)
{
    pthread_mutex_unlock(&lock);
}

struct writing {
    const struct plan *plan;
    char *problem;
};

static void write_under_lock(void *data)
{
    struct writing *writing = data;
    writing->problem = write_copies(writing->plan);
}

char *qmpi_copies_make(struct qmpi_copies *copies, char **problem)
{
    struct plan plan = {.copies = copies};
    struct writing writing = {&plan, NULL};
    plan_copies(&plan);
    const struct library *libraries = plan.first;
    pthread_mutex_lock(&lock);
    qmpi_memory_call_locked(write_under_lock, &writing, release_lock);
    *problem = writing.problem;
    copies->has_copies = false;
    copies->needed = copies->layer->again;
    for (const struct library *library = plan.first; library; library = library->next) {
        copies->has_copies |= library != libraries && library->copied;
        copies->needed |= library->copied && library->loaded;
    }
    char *path = *problem ? NULL : qmpi_copy(libraries->copy ? libraries->copy : copies->path);
    free_plan(&plan);
    return path;
}

const char *qmpi_copies_find(const struct qmpi_layer *layer, const char *name)
{
    for (const struct qmpi_layer_group *group = qmpi_layer_group_first(); group;
         group = group->next) {
        for (int i = 0; group->layer == layer && i < group->count; i++) {
            if (qmpi_elf_copy_is_of(group->objects[i].name, name))
                return group->objects[i].name;
        }
    }
    return NULL;
}
