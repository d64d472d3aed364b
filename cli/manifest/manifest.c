/* SPDX-License-Identifier: MIT */
/* See manifest.h. Members of a manifest that are not known are ignored. */
#define _GNU_SOURCE
#include "cli/manifest/manifest.h"

#include "elf/elf.h"
#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The members of an object ---------------------------------------------------------------- */

/* An object in the document. The first violation of the format becomes the problem, and whatever is
 * read after it does not count. Missing members are NULL, false or empty. */
struct member_source {
    char **problem;
    const char *path;     /* the file */
    const char *place;    /* the object, such as "" or "conflicts[0]." */
    const json_t *object; /* NULL if it is missing */
};

enum { ELEMENTS_MAX = 10000 }; /* the maximum number of elements in an array */

/* Describes a value for messages. The caller frees the text. */
static char *describe_value(const json_t *value)
{
    switch (value ? (int)json_typeof(value) : -1) {
    case -1:
        return qmpi_copy("nothing");
    case JSON_OBJECT:
        return qmpi_copy("an object");
    case JSON_ARRAY:
        return qmpi_format("an array of %zu elements", json_array_size(value));
    case JSON_STRING: {
        char *shown = qmpi_message_shorten(json_string_value(value));
        char *text = qmpi_format("'%s'", shown);
        free(shown);
        return text;
    }
    case JSON_INTEGER:
    case JSON_REAL:
        return qmpi_copy("a number");
    case JSON_TRUE:
        return qmpi_copy("true");
    case JSON_FALSE:
        return qmpi_copy("false");
    default:
        return qmpi_copy("null");
    }
}

static void fail_at(const struct member_source *source, const char *key, const char *expected,
                    const json_t *found)
{
    if (*source->problem)
        return;
    char *text = describe_value(found);
    *source->problem = qmpi_message("%s: %s%s: expected %s, found %-s\n"
                                    "hint: correct this manifest, or remove it; "
                                    "qmpi-manifest(5) describes the format",
                                    source->path, source->place, key, expected, text);
    free(text);
}

static void member_fail(const struct member_source *source, const char *key, const char *expected)
{
    fail_at(source, key, expected, json_object_get(source->object, key));
}

/* Returns whether a value is a string of one line that is not empty. */
static bool is_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && *text && !strpbrk(text, "\r\n");
}

static char *member_text(const struct member_source *source, const char *key)
{
    const json_t *value = json_object_get(source->object, key);
    if (is_text(value))
        return qmpi_copy(json_string_value(value));
    if (value)
        member_fail(source, key, "a string of one line");
    return NULL;
}

static char *member_required_text(const struct member_source *source, const char *key)
{
    if (!json_object_get(source->object, key))
        member_fail(source, key, "a string of one line");
    return member_text(source, key);
}

static bool member_flag(const struct member_source *source, const char *key)
{
    const json_t *value = json_object_get(source->object, key);
    if (value && !json_is_boolean(value))
        member_fail(source, key, "true or false");
    return json_is_true(value);
}

static int member_choice(const struct member_source *source, const char *key,
                         const char *const *choices, const char *expected, int missing)
{
    const json_t *value = json_object_get(source->object, key);
    for (int i = 0; json_is_string(value) && choices[i]; i++) {
        if (!strcmp(choices[i], json_string_value(value)))
            return i;
    }
    if (value)
        member_fail(source, key, expected);
    return missing;
}

/* Returns whether the member is an array that can be read. Any other value is a violation of the
 * format. */
static bool check_array(const struct member_source *source, const char *key, const json_t *array)
{
    if (!array || *source->problem)
        return false;
    if (!json_is_array(array) || json_array_size(array) > ELEMENTS_MAX) {
        member_fail(source, key, "an array of at most 10000 elements");
        return false;
    }
    return true;
}

static struct manifest_list member_list(const struct member_source *source, const char *key)
{
    const json_t *array = json_object_get(source->object, key);
    struct manifest_list list = {NULL, 0};
    if (!check_array(source, key, array))
        return list;
    list.items = qmpi_allocate(json_array_size(array) + 1, sizeof *list.items);
    for (size_t i = 0; i < json_array_size(array) && !*source->problem; i++) {
        const json_t *value = json_array_get(array, i);
        if (is_text(value)) {
            list.items[list.count++] = qmpi_copy(json_string_value(value));
        } else {
            char *place = qmpi_format("%s[%zu]", key, i);
            fail_at(source, place, "a string of one line", value);
            free(place);
        }
    }
    return list;
}

static void member_each(const struct member_source *source, const char *key,
                        void (*read)(const struct member_source *element, void *data), void *data)
{
    const json_t *array = json_object_get(source->object, key);
    if (!check_array(source, key, array))
        return;
    for (size_t i = 0; i < json_array_size(array) && !*source->problem; i++) {
        const json_t *value = json_array_get(array, i);
        char *name = qmpi_format("%s[%zu]", key, i);
        char *place = qmpi_format("%s%s.", source->place, name);
        const struct member_source element = {source->problem, source->path, place, value};
        if (json_is_object(value))
            read(&element, data);
        else
            fail_at(source, name, "an object", value);
        free(place);
        free(name);
    }
}

static struct member_source member_object(const struct member_source *source, const char *key)
{
    const json_t *value = json_object_get(source->object, key);
    if (value && !json_is_object(value))
        member_fail(source, key, "an object");
    return (struct member_source){source->problem, source->path,
                                  qmpi_format("%s%s.", source->place, key), value};
}

/* ---- Parts of the document ------------------------------------------------------------------- */

static void read_option(const struct member_source *source, void *data)
{
    struct manifest_options *options = data;
    options->items = qmpi_memory_grow(options->items, options->count, sizeof *options->items);
    options->items[options->count++] =
        (struct manifest_option){member_required_text(source, "name"),
                                 member_text(source, "default"), member_text(source, "help")};
}

static void read_conflict(const struct member_source *source, void *data)
{
    static const char *const when[] = {"always", "preloaded", NULL};
    static const char *const positions[] = {"any", "above", "below", NULL};
    struct manifest *manifest = data;
    manifest->conflicts = qmpi_memory_grow(manifest->conflicts, manifest->conflict_count,
                                           sizeof *manifest->conflicts);
    manifest->conflicts[manifest->conflict_count++] = (struct manifest_conflict){
        member_required_text(source, "tool"), member_text(source, "reason"),
        member_choice(source, "when", when, "one of always, preloaded", 0) == 1,
        (enum manifest_position)member_choice(
            source, "position", positions, "one of any, above, below", MANIFEST_AT_ANY_POSITION)};
}

static void read_needs(const struct member_source *root, struct manifest *manifest)
{
    struct member_source needs = member_object(root, "needs");
    manifest->needed_tools = member_list(&needs, "tools");
    manifest->needed_variables = member_list(&needs, "environment");
    free((char *)needs.place);
}

static void read_output(const struct member_source *root, struct manifest *manifest)
{
    struct member_source output = member_object(root, "output");
    manifest->output_files = member_list(&output, "files");
    manifest->output_shared = member_flag(&output, "shared");
    manifest->output_option = member_text(&output, "option");
    free((char *)output.place);
}

static void read_mpi(const struct member_source *root, struct manifest *manifest)
{
    static const char *const known[] = {"mpich", "openmpi", "abi", NULL};
    manifest->mpi = member_list(root, "mpi");
    for (int i = 0; i < manifest->mpi.count; i++) {
        int k = 0;
        while (known[k] && strcmp(known[k], manifest->mpi.items[i]) != 0)
            k++;
        if (!known[k])
            member_fail(root, "mpi", "an array of mpich, openmpi, abi");
    }
}

/* The member is true, false, or the options with which the tool communicates. */
static void read_communicates(const struct member_source *root, struct manifest *manifest)
{
    static const char key[] = "communicates";
    const json_t *value = json_object_get(root->object, key);
    if (json_is_array(value))
        manifest->communicates_with = member_list(root, key);
    else if (value && !json_is_boolean(value))
        member_fail(root, key, "true, false or an array of options");
    manifest->communicates = json_is_true(value);
    for (int i = 0; i < manifest->communicates_with.count; i++) {
        if (!strchr(manifest->communicates_with.items[i], '='))
            member_fail(root, key, "options of the form KEY=VALUE");
    }
}

static void read_members(const struct member_source *root, struct manifest *manifest)
{
    static const char *const kinds[] = {"qmpi", "pmpi", "mpich", NULL};
    static const char *const places[] = {"any", "application", "mpi", NULL};
    char *name = member_text(root, "name");
    if (name) {
        free(manifest->name);
        manifest->name = name;
    }
    manifest->description = member_required_text(root, "description");
    manifest->libraries = member_list(root, "libraries");
    manifest->defines = member_list(root, "defines");
    manifest->kind = (enum manifest_kind)member_choice(
        root, "kind", kinds, "one of qmpi, pmpi, mpich", MANIFEST_KIND_UNKNOWN);
    read_mpi(root, manifest);
    member_each(root, "options", read_option, &manifest->options);
    member_each(root, "environment", read_option, &manifest->environment);
    manifest->place = (enum manifest_place)member_choice(
        root, "place", places, "one of application, mpi, any", MANIFEST_ANYWHERE);
    manifest->place_reason = member_text(root, "place_reason");
    read_needs(root, manifest);
    member_each(root, "conflicts", read_conflict, manifest);
    manifest->replaces = member_list(root, "replaces");
    read_communicates(root, manifest);
    read_output(root, manifest);
    manifest->walks_stack = member_flag(root, "walks_stack");
    manifest->fortran_wrappers = member_flag(root, "fortran_wrappers");
    manifest->notes = member_list(root, "notes");
}

/* ---- The document ---------------------------------------------------------------------------- */

/* Later versions are refused, because the same members may have other meanings in them. */
static void check_schema(const struct member_source *root)
{
    const json_t *value = json_object_get(root->object, "schema");
    const char *text = json_string_value(value);
    if (!text || strcmp(text, "qmpi-manifest/1") != 0)
        member_fail(root, "schema", "qmpi-manifest/1");
}

bool manifest_is_meant(const char *text, size_t size)
{
    static const char schema[] = "qmpi-manifest/";
    return memmem(text, size, schema, sizeof schema - 1) != NULL;
}

struct manifest *manifest_parse(const char *text, size_t size, const char *path, const char *name,
                                char **problem)
{
    json_error_t error;
    *problem = NULL;
    if (!manifest_is_meant(text, size))
        return NULL;
    json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!document) {
        *problem = qmpi_message("%s: line %d, column %d: invalid JSON: %s\n"
                                "hint: correct this manifest, or remove it; "
                                "qmpi-manifest(5) describes the format",
                                path, error.line, error.column, error.text);
        return NULL;
    }
    const struct member_source root = {problem, path, "", document};
    struct manifest *manifest = qmpi_allocate(1, sizeof *manifest);
    manifest->path = qmpi_copy(path);
    manifest->name = qmpi_copy(name);
    check_schema(&root); /* This also refuses an array, which has no members. */
    if (!*problem)
        read_members(&root, manifest);
    json_decref(document);
    if (*problem) {
        manifest_free(manifest);
        return NULL;
    }
    return manifest;
}

/* ---- Freeing --------------------------------------------------------------------------------- */

static void free_list(struct manifest_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}

static void free_options(struct manifest_options *options)
{
    for (int i = 0; i < options->count; i++) {
        free(options->items[i].name);
        free(options->items[i].default_value);
        free(options->items[i].help);
    }
    free(options->items);
}

void manifest_free(struct manifest *manifest)
{
    if (!manifest)
        return;
    struct manifest_list *const lists[] = {
        &manifest->mpi,      &manifest->needed_tools,      &manifest->needed_variables,
        &manifest->replaces, &manifest->communicates_with, &manifest->output_files,
        &manifest->notes,    &manifest->libraries,         &manifest->defines};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free_list(lists[i]);
    free_options(&manifest->options);
    free_options(&manifest->environment);
    for (int i = 0; i < manifest->conflict_count; i++) {
        free(manifest->conflicts[i].tool);
        free(manifest->conflicts[i].reason);
    }
    free(manifest->conflicts);
    free(manifest->output_option);
    free(manifest->place_reason);
    free(manifest->description);
    free(manifest->name);
    free(manifest->path);
    free(manifest);
}

/* ---- Finding: files -------------------------------------------------------------------------- */

enum { SIZE_MAX_READ = 1 << 20 };

char *manifest_tool_name(const char *path)
{
    const char *file = qmpi_text_base_name(path);
    const char *start = strncmp(file, "lib", 3) ? file : file + 3;
    const char *end = strstr(start, ".so");
    return end && end > start ? qmpi_copy_part(start, (size_t)(end - start)) : qmpi_copy(file);
}

static const char too_large[] = "it is larger than 1 MiB";

/* Returns NULL, or the reason why the file cannot be read completely. Does not wait for pipes. */
static const char *read_regular_file(int descriptor, char *text, size_t *size)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is not a regular file";
    for (;;) {
        const ssize_t got = read(descriptor, text + *size, SIZE_MAX_READ + 1 - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strerror(errno);
        *size += (size_t)got;
        if (got == 0)
            return NULL;
        if (*size > SIZE_MAX_READ)
            return too_large;
    }
}

/* Reads a file, and sets either `*manifest` or `*problem`. Sets neither and returns false if there
 * is no such file or if it is not meant as a manifest. */
static bool try_file(const char *path, const char *name, struct manifest **manifest, char **problem)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR))
        return false;
    char *text = qmpi_allocate(SIZE_MAX_READ + 1, 1);
    size_t size = 0;
    const char *reason =
        descriptor < 0 ? strerror(errno) : read_regular_file(descriptor, text, &size);
    if (descriptor >= 0)
        close(descriptor);
    if (reason == too_large && !manifest_is_meant(text, size))
        ; /* The file is something else, such as output of a tool of this name. */
    else if (reason)
        *problem = qmpi_message("%s: this manifest cannot be read: %s\n"
                                "hint: correct this file, or remove it",
                                path, reason);
    else
        *manifest = manifest_parse(text, size, path, name, problem);
    free(text);
    return *manifest || *problem;
}

/* ---- Finding: libraries of a manifest -------------------------------------------------------- */

struct library {
    const char *path;
    char *name; /* the name of its file without `lib` and `.so…` */
};

static bool has_symbol(const struct qmpi_elf_image *image, const char *name)
{
    for (size_t i = 0; i < image->symbol_count; i++) {
        if (qmpi_elf_defines(&image->symbols[i]) &&
            !strcmp(qmpi_elf_string(image, image->symbols[i].st_name), name))
            return true;
    }
    return false;
}

static bool defines_all(const struct library *library, const struct manifest_list *names)
{
    struct qmpi_elf_file file;
    if (!names->count)
        return true;
    if (qmpi_elf_file_open(library->path, &file))
        return false;
    bool all = true;
    for (int i = 0; i < names->count && all; i++)
        all = has_symbol(&file.image, names->items[i]);
    qmpi_elf_file_close(&file);
    return all;
}

static bool is_for(const struct manifest *manifest, const struct library *library)
{
    bool named = !manifest->libraries.count;
    for (int i = 0; i < manifest->libraries.count && !named; i++)
        named = !fnmatch(manifest->libraries.items[i], library->name, 0);
    return named && defines_all(library, &manifest->defines);
}

/* ---- Finding: directories -------------------------------------------------------------------- */

/* Tries NAME.json in a directory. */
static bool try_folder(const char *folder, size_t length, const struct library *library,
                       struct manifest **manifest, char **problem)
{
    char *path = qmpi_format("%.*s/%s.json", (int)length, folder, library->name);
    bool found = try_file(path, library->name, manifest, problem);
    if (*manifest && !is_for(*manifest, library)) {
        manifest_free(*manifest);
        *manifest = NULL;
        found = false;
    }
    free(path);
    return found;
}

/* Tries the directory of the library's path. */
static bool try_beside(const char *path, const struct library *library, struct manifest **manifest,
                       char **problem)
{
    const char *slash = strrchr(path, '/');
    return slash ? try_folder(path, (size_t)(slash - path), library, manifest, problem)
                 : try_folder(".", 1, library, manifest, problem);
}

/* Tries the directory of the file that a symbolic link leads to, where NAME is that of the file. */
static bool try_beside_real(const char *real, const struct library *link,
                            struct manifest **manifest, char **problem)
{
    const struct library library = {link->path, manifest_tool_name(real)};
    const bool found = try_beside(real, &library, manifest, problem);
    free(library.name);
    return found;
}

static int is_manifest(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 5 && !strcmp(entry->d_name + length - 5, ".json");
}

/* Tries the other manifests in a directory, which may name this library. Their errors are reported
 * when their own tools are used. */
static bool try_others(const char *folder, const struct library *library,
                       struct manifest **manifest)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, is_manifest, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = qmpi_format("%s/%s", folder, entries[i]->d_name), *problem = NULL;
        char *name = qmpi_copy_part(entries[i]->d_name, strlen(entries[i]->d_name) - 5);
        if (!*manifest && try_file(path, name, manifest, &problem) && *manifest &&
            (!(*manifest)->libraries.count || !is_for(*manifest, library))) {
            manifest_free(*manifest);
            *manifest = NULL;
        }
        free(problem);
        free(name);
        free(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return *manifest;
}

struct manifest *manifest_find(const char *path, const char *const *folders, char **problem)
{
    struct manifest *manifest = NULL;
    const struct library library = {path, manifest_tool_name(path)};
    *problem = NULL;
    char *real = realpath(path, NULL);
    bool found =
        try_beside(path, &library, &manifest, problem) ||
        (real && strcmp(real, path) != 0 && try_beside_real(real, &library, &manifest, problem));
    free(real);
    for (; !found && *folders; folders++)
        found = try_folder(*folders, strlen(*folders), &library, &manifest, problem) ||
                try_others(*folders, &library, &manifest);
    free(library.name);
    return manifest;
}
