/* SPDX-License-Identifier: MIT */
/* See copies.h. */
#define _GNU_SOURCE
#include "copies.h"

#include "elf_file.h"
#include "group.h"
#include "ld_cache.h"
#include "message.h"
#include "mpi_symbols.h"
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

/* ---- Which libraries need a copy ----------------------------------------------------------------
 */

/* The loaded object that answers to a DT_NEEDED name. */
struct loaded {
    const char *needed;
    char *path; /* NULL: none */
    bool mpi;   /* it has to do with MPI, and is neither MPI's own nor ours */
};

static int match(struct dl_phdr_info *info, size_t size, void *data)
{
    struct loaded *loaded = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (!info->dlpi_name || !*info->dlpi_name || !qmpi_elf_loaded_read(info, &object))
        return 0;
    const char *soname = qmpi_elf_soname(&object.image);
    /* As the loader does, which also knows it by the name that it was asked for. */
    if (strcmp(file_part(object.name), loaded->needed) != 0 &&
        (!soname || strcmp(soname, loaded->needed) != 0))
        return 0;
    loaded->path = qmpi_copy(object.name);
    loaded->mpi = !qmpi_group_is_mpi(&object) && qmpi_mpi_symbols_any(&object.image);
    return 1;
}

/* A name in a RUNPATH list, its $ORIGIN replaced, if the file is there. */
static char *in_run_path(const char *list, const char *requirer, const char *needed)
{
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        const int folder = (int)(file_part(requirer) - requirer);
        const bool origin = !strncmp(list, "$ORIGIN", 7);
        char *path = origin ? qmpi_format("%.*s.%.*s/%s", folder, requirer, (int)length - 7,
                                          list + 7, needed)
                            : qmpi_format("%.*s/%s", (int)length, list, needed);
        if (access(path, F_OK) == 0)
            return path;
        free(path);
        list += length + (list[length] == ':');
    }
    return NULL;
}

/* Where the loader will find a dependency that is not loaded yet. */
static char *find_needed(const struct qmpi_elf_file *file, const char *requirer, const char *needed)
{
    const struct qmpi_elf_image *image = &file->image;
    const uint64_t run_path =
        qmpi_elf_tag(image, DT_RUNPATH, qmpi_elf_tag(image, DT_RPATH, UINT64_MAX));
    char *path = run_path == UINT64_MAX
                     ? NULL
                     : in_run_path(qmpi_elf_string(image, run_path), requirer, needed);
    if (!path)
        path = in_run_path(secure_getenv("LD_LIBRARY_PATH"), requirer, needed);
    return path ? path : ld_cache_find(needed);
}

static bool any_needs_copy(const char *path, int depth);

/*
 * The needed names that turned out to lead to nothing that must be copied, in the present question:
 * libraries share most of their dependencies.
 */
static struct {
    char **names;
    int count;
} plain;

static bool is_plain(const char *needed)
{
    for (int i = 0; i < plain.count; i++) {
        if (!strcmp(plain.names[i], needed))
            return true;
    }
    return false;
}

static void note_plain(const char *needed)
{
    enum { STEP = 32 };
    if (plain.count % STEP == 0) {
        char **more = qmpi_allocate((size_t)plain.count + STEP, sizeof *more);
        for (int i = 0; i < plain.count; i++)
            more[i] = plain.names[i];
        free(plain.names);
        plain.names = more;
    }
    plain.names[plain.count++] = qmpi_copy(needed);
}

static void forget_plain(void)
{
    while (plain.count)
        free(plain.names[--plain.count]);
    free(plain.names);
    plain.names = NULL;
}

/*
 * The file of a dependency that must be copied: it is loaded already, for the program or for
 * another layer, and has to do with MPI; or one of its own dependencies is such a one. NULL: it
 * need not be.
 */
static char *path_to_copy(const struct qmpi_elf_file *file, const char *requirer,
                          const char *needed, int depth)
{
    struct loaded loaded = {.needed = needed};
    if (is_plain(needed))
        return NULL;
    dl_iterate_phdr(match, &loaded);
    if (loaded.mpi)
        return loaded.path;
    char *path = loaded.path ? loaded.path : find_needed(file, requirer, needed);
    if (path && any_needs_copy(path, depth))
        return path;
    free(path);
    note_plain(needed);
    return NULL;
}

static bool any_needs_copy(const char *path, int depth)
{
    enum { DEEPEST = 16 };
    struct qmpi_elf_file file;
    if (depth > DEEPEST || qmpi_elf_file_open(path, &file))
        return false;
    bool found = false;
    const char *needed;
    for (int i = 0; !found && (needed = qmpi_elf_needed(&file.image, i)); i++) {
        char *copied = path_to_copy(&file, path, needed, depth + 1);
        found = copied != NULL;
        free(copied);
    }
    qmpi_elf_file_close(&file);
    return found;
}

/* A quick answer for the usual case: no library at all could be shared. */
static int note_shareable(struct dl_phdr_info *info, size_t size, void *data)
{
    bool *any = data;
    struct qmpi_elf_loaded object;
    (void)size;
    if (info->dlpi_name && *info->dlpi_name && qmpi_elf_loaded_read(info, &object) &&
        !qmpi_group_is_mpi(&object) && !qmpi_group_leads(&object) &&
        qmpi_mpi_symbols_any(&object.image))
        *any = true;
    return *any;
}

int qmpi_copies_needed(const char *path)
{
    bool any = false;
    dl_iterate_phdr(note_shareable, &any);
    const bool needed = any && any_needs_copy(path, 0);
    forget_plain();
    return needed;
}

/* ---- Names inside a copy ------------------------------------------------------------------------
 */

/* Whether nothing else in the string table shares the text at `offset`: linkers merge suffixes. */
static bool stands_alone(const struct qmpi_elf_image *image, size_t offset, size_t length)
{
    if (offset == 0 || image->strings[offset - 1] != '\0')
        return false;
    const size_t count = qmpi_elf_symbol_count(image);
    for (size_t i = 0; i < count; i++) {
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

static char *cannot_be_renamed(const char *library, const char *name, const char *place)
{
    return qmpi_message(
        "%s cannot be loaded twice: its name '%s' cannot be replaced in %s\n"
        "mend: link it with another soname, of six characters or more, and then the "
        "tool with it",
        library, name, place);
}

static char *copy_library(const char *path, const char *soname, char **problem);

/* The dependencies that were copied for the present layer: several libraries may need one. */
static struct made {
    struct made *next;
    char *path, *needed;
    char *other; /* what the copy is needed as */
    bool loaded;
} * made;

static struct made *find_made(const char *path, const char *needed)
{
    struct made *one = made;
    while (one && (strcmp(one->path, path) != 0 || strcmp(one->needed, needed) != 0))
        one = one->next;
    return one;
}

static void forget_made(void)
{
    while (made) {
        struct made *next = made->next;
        free(made->path);
        free(made->needed);
        free(made->other);
        free(made);
        made = next;
    }
}

static struct made *note_made(const char *path, const char *needed)
{
    struct made *one = qmpi_allocate(1, sizeof *one);
    one->next = made;
    one->path = qmpi_copy(path);
    one->needed = qmpi_copy(needed);
    one->other = strlen(needed) < 6 ? qmpi_copy(needed) : other_name(needed);
    made = one;
    return one;
}

/* Copies and loads the dependencies of `file` that other layers have; renames them in the copy. */
static char *copy_dependencies(const struct qmpi_elf_file *file, const char *requirer,
                               int descriptor)
{
    const char *needed;
    char *problem = NULL;
    for (int i = 0; !problem && (needed = qmpi_elf_needed(&file->image, i)); i++) {
        char *path = path_to_copy(file, requirer, needed, 0), *copy = NULL;
        if (!path)
            continue;
        struct made *one = find_made(path, needed);
        if (one && !one->loaded)
            problem = qmpi_message("%s cannot be loaded twice: it and %s need each other\nmend: "
                                   "link them as one library, or list the tools with it once",
                                   path, requirer);
        if (!one) {
            one = note_made(path, needed);
            copy = copy_library(path, one->other, &problem);
        }
        if (!problem && !rename_in_copy(file, descriptor, needed, one->other))
            problem = cannot_be_renamed(path, needed, requirer);
        if (!problem && copy && !dlopen(copy, RTLD_LAZY | RTLD_LOCAL))
            problem =
                qmpi_message("a copy of its dependency cannot be loaded: %s\nmend: install what "
                             "it needs, or set TMPDIR to a folder from which libraries can be "
                             "loaded",
                             dlerror());
        one->loaded = !problem;
        free(copy);
        free(path);
    }
    return problem;
}

/* Copies one library; `soname` (NULL: leave it) is the copy's own name for the loader. */
static char *copy_library(const char *path, const char *soname, char **problem)
{
    struct qmpi_elf_file file;
    const char *reason = qmpi_elf_file_open(path, &file);
    if (reason) {
        *problem = qmpi_message("%s: %s\nmend: install it again", path, reason);
        return NULL;
    }
    int descriptor;
    char *copy = qmpi_temporary_file(file_part(path), &descriptor, problem);
    if (copy && !write_file(descriptor, file.map, file.size))
        *problem = qmpi_message("%s cannot be written: %s\nmend: set TMPDIR to a folder with room",
                                copy, strerror(errno));
    if (copy && !*problem && soname) {
        const char *own = qmpi_elf_soname(&file.image);
        if (!own)
            *problem =
                qmpi_message("%s cannot be loaded twice: it has no soname\nmend: link it with "
                             "-Wl,-soname,%s, and then the tool with it",
                             path, file_part(path));
        else if (strlen(own) != strlen(soname) || !rename_in_copy(&file, descriptor, own, soname))
            *problem = cannot_be_renamed(path, own, path);
    }
    if (copy && !*problem && !bind_to_itself(&file, descriptor))
        *problem =
            qmpi_message("%s cannot be loaded twice: its dynamic section has no room\nmend: link "
                         "it with -Bsymbolic",
                         path);
    if (copy && !*problem)
        *problem = copy_dependencies(&file, path, descriptor);
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
    char *copy = copy_library(path, NULL, problem);
    forget_made();
    forget_plain();
    return copy;
}
