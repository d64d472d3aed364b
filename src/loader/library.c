/* SPDX-License-Identifier: MIT */
/*
 * See library.h. First, the file is found; then it is inspected. The `qmpi` command uses this code,
 * too, so nothing here depends on the libraries in the process.
 */
#define _GNU_SOURCE
#include "loader/library.h"

#include "config/config.h"
#include "elf/elf.h"
#include "functions/functions.h"
#include "generate/build.h"
#include "process/process.h"
#include "util/util.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Places that are searched ---------------------------------------------------------------- */

/* The places searched so far, one per line, each with the reason why the tool is not there; of many
 * places, only the first ones. */
struct places {
    char *text;
    int count;
};

static void add_searched_place(struct places *places, const char *path, const char *reason)
{
    enum { SHOWN = 40 };
    if (++places->count <= SHOWN) {
        char *shown = qmpi_message_shorten(path);
        char *longer = qmpi_message("%-s  %s: %s\n", places->text, shown, reason);
        free(shown);
        free(places->text);
        places->text = longer;
    }
}

/* An existing file is used even if it is invalid: ignoring it would be surprising. */
static bool try_path(const char *path, struct places *places)
{
    if (access(path, F_OK) == 0)
        return true;
    add_searched_place(places, path, strerror(errno));
    return false;
}

static char *try_in_folder(const char *folder, size_t length, const char *name, bool as_written,
                           struct places *places)
{
    for (int i = 0; i < (as_written ? 1 : 2); i++) {
        char *path = qmpi_format("%.*s/%s%s%s", (int)length, folder, i ? "lib" : "", name,
                                 as_written ? "" : ".so");
        if (try_path(path, places))
            return path;
        free(path);
    }
    return NULL;
}

/* Searches the same places as the dynamic loader: its cache, LD_LIBRARY_PATH, and its own
 * directories. A file in a directory takes precedence over one in the cache. */
static char *try_loader(const char *name, struct places *places)
{
    char *path = qmpi_elf_search_cache(name);
    void *self = dlopen(NULL, RTLD_LAZY);
    Dl_serinfo head, *folders = NULL;
    if (self && dlinfo(self, RTLD_DI_SERINFOSIZE, &head) == 0) {
        folders = qmpi_allocate(1, head.dls_size);
        folders->dls_size = head.dls_size;
        folders->dls_cnt = head.dls_cnt;
        if (dlinfo(self, RTLD_DI_SERINFO, folders) != 0)
            folders->dls_cnt = 0;
    }
    for (unsigned i = 0; folders && i < folders->dls_cnt; i++) {
        const char *folder = folders->dls_serpath[i].dls_name;
        char *there = try_in_folder(folder, strlen(folder), name, true, places);
        if (there) {
            free(path);
            path = there;
            break;
        }
    }
    free(folders);
    if (self)
        dlclose(self);
    if (!path)
        add_searched_place(places, "the dynamic loader's cache", "not found");
    return path;
}

static char *try_abi_folder(const char *installed, const char *name, bool as_written,
                            struct places *places)
{
    char *folder = qmpi_library_abi_folder(installed);
    char *path = folder ? try_in_folder(folder, strlen(folder), name, as_written, places) : NULL;
    free(folder);
    return path;
}

char *qmpi_library_abi_folder(const char *installed)
{
    static const char name[] = "qmpi-abi";
    const char *last = qmpi_text_base_name(installed);
    return strcmp(last, name) ? qmpi_format("%.*s%s", (int)(last - installed), installed, name)
                              : NULL;
}

/* If the last component of the path is the name of the directory of installed tools, the directory
 * belongs to an installation. The tool may then also be in the directory beside it, which contains
 * the tools of that installation for the standard ABI. */
static char *try_beside(const char *folder, size_t length, const char *name, bool as_written,
                        struct places *places)
{
    static const char tools[] = "/" QMPI_TOOLS_FOLDER;
    const size_t end = sizeof tools - 1;
    if (length <= end || strncmp(folder + length - end, tools, end) != 0)
        return NULL;
    char *installed = qmpi_format("%.*s", (int)length, folder);
    char *path = try_abi_folder(installed, name, as_written, places);
    free(installed);
    return path;
}

static char *try_list(const char *list, const char *name, bool as_written, struct places *places)
{
    while (list && *list) {
        const size_t length = strcspn(list, ":");
        char *written = qmpi_copy_part(list, length), *folder = qmpi_start_path(written);
        const size_t end = length ? strlen(folder) : 0;
        char *path = length ? try_in_folder(folder, end, name, as_written, places) : NULL;
        if (!path)
            path = try_beside(folder, end, name, as_written, places);
        free(folder);
        free(written);
        if (path)
            return path;
        list += length + (list[length] == ':');
    }
    return NULL;
}

/* Searches the directories of `first`, a list (NULL: none), then those of QMPI_TOOL_PATH and of the
 * configuration files. */
static char *try_tool_path(const char *first, const char *name, bool as_written,
                           struct places *places)
{
    char *path = try_list(first, name, as_written, places);
    char *list = path ? NULL : qmpi_settings_tool_path();
    if (list)
        path = try_list(list, name, as_written, places);
    free(list);
    return path;
}

/* ---- Hints ----------------------------------------------------------------------------------- */

struct names {
    char **list;
    int count;
};

static void add_candidate(struct names *names, char *name)
{
    names->list = qmpi_memory_grow(names->list, names->count, sizeof *names->list);
    names->list[names->count++] = name;
}

static void add_stack_name(void *data, const char *name, const char *path, int line)
{
    (void)path;
    (void)line;
    add_candidate(data, qmpi_copy(name));
}

/* Adds the names of the tools in a directory: libX.so and X.so are X. */
static void add_tool_names(struct names *names, const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        const char *name = entry->d_name + (strncmp(entry->d_name, "lib", 3) ? 0 : 3);
        const char *end = strstr(name, ".so");
        if (end && end > name && !end[3])
            add_candidate(names, qmpi_copy_part(name, (size_t)(end - name)));
    }
    if (directory)
        closedir(directory);
}

static void add_listed_names(struct names *names, const char *list)
{
    while (*list) {
        const size_t length = strcspn(list, ":");
        char *folder = qmpi_copy_part(list, length);
        if (length)
            add_tool_names(names, folder);
        free(folder);
        list += length + (list[length] == ':');
    }
}

static const char *name_at(const void *data, int index)
{
    const struct names *names = data;
    return index < names->count ? names->list[index] : NULL;
}

/*
 * Returns a name that is similar to `name`: that of a stack, or of a tool in the directories
 * `installed` and `abi` (NULL: none) or in those of QMPI_TOOL_PATH and of the configuration files.
 * The caller frees it. NULL: none is similar.
 */
static char *find_similar(const char *name, const char *installed, const char *abi)
{
    struct names names = {NULL, 0};
    char *list = qmpi_settings_tool_path();
    qmpi_stack_each_name(add_stack_name, &names);
    add_tool_names(&names, installed);
    if (abi)
        add_tool_names(&names, abi);
    add_listed_names(&names, list);
    const char *similar = qmpi_text_suggest(name, name_at, &names);
    char *result = similar ? qmpi_copy(similar) : NULL;
    for (int i = 0; i < names.count; i++)
        free(names.list[i]);
    free(names.list);
    free(list);
    return result;
}

/* Returns a hint for a name that was not found: the file of this name in the current directory, or
 * else the tool or stack with a similar name, if any, and where to look for others. */
static char *hint_for_name(const char *name, const char *installed)
{
    for (int i = strstr(name, ".so") ? 0 : 1; i < 3; i++) {
        char *path = qmpi_format("./%s%s%s", i == 2 ? "lib" : "", name, i ? ".so" : "");
        if (access(path, R_OK) == 0) {
            char *hint = qmpi_format("write %s: only a name with a slash is a path", path);
            free(path);
            return hint;
        }
        free(path);
    }
    char *abi = qmpi_library_abi_folder(installed);
    char *similar = find_similar(name, installed, abi);
    char *hint = qmpi_format("%s%s%s `qmpi list` lists installed tools; QMPI_TOOL_PATH can name "
                             "more directories",
                             similar ? "did you mean '" : "correct the name.",
                             similar ? similar : "", similar ? "'?" : "");
    free(similar);
    free(abi);
    return hint;
}

/* ---- Finding a library ----------------------------------------------------------------------- */

char *qmpi_library_find(const struct qmpi_tool_entry *entry, const char *installed,
                        const char *registered, char **problem)
{
    const char *name = entry->name;
    struct places places = {qmpi_copy(""), 0};
    char *path = NULL;
    if (strchr(name, '/')) {
        path = qmpi_start_path(name);
        if (!try_path(path, &places)) {
            free(path);
            path = NULL;
        }
    } else {
        const bool as_written = strstr(name, ".so") != NULL;
        path = try_tool_path(entry->tool_path, name, as_written, &places);
        if (!path)
            path = try_in_folder(installed, strlen(installed), name, as_written, &places);
        if (!path)
            path = try_abi_folder(installed, name, as_written, &places);
        if (!path && as_written)
            path = try_loader(name, &places);
    }
    if (path) {
        qmpi_debug(QMPI_TOPIC_FIND, "%s is %s", name, path);
    } else if (strchr(name, '/')) {
        *problem = qmpi_message("no such library\n%-shint: correct the path", places.text);
    } else {
        char *hint = hint_for_name(name, installed);
        *problem = qmpi_message("no such tool\n%s%s%-s%-shint: %s",
                                *registered ? "  registered tools: " : "", registered,
                                *registered ? "\n" : "", places.text, hint);
        free(hint);
    }
    free(places.text);
    return path;
}

char *qmpi_library_find_namesake(const char *stack, const char *installed)
{
    struct places places = {qmpi_copy(""), 0};
    char *path = try_tool_path(NULL, stack, false, &places);
    if (!path)
        path = try_in_folder(installed, strlen(installed), stack, false, &places);
    if (!path)
        path = try_abi_folder(installed, stack, false, &places);
    free(places.text);
    return path;
}

static char *find_abi_name_in(const char *folder, size_t length, const char *suffix)
{
    char *path = qmpi_format("%.*s%s/qmpi-abi.module", (int)length, folder, suffix);
    if (!access(path, R_OK))
        return path;
    qmpi_debug(QMPI_TOPIC_LOAD, "%s: %s", path, strerror(errno));
    free(path);
    return NULL;
}

char *qmpi_library_find_abi_name(const char *installed, const char *tool)
{
    const char *slash = strrchr(tool, '/');
    const size_t length = slash ? (size_t)(slash - tool) : 0;
    char *path = find_abi_name_in(installed, strlen(installed), "");
    if (!path && slash)
        path = find_abi_name_in(tool, length, "");
    if (!path && slash)
        path = find_abi_name_in(tool, length, "/../" QMPI_TOOLS_FOLDER);
    return path;
}

/* ---- Contents of a file ---------------------------------------------------------------------- */

/* The soname of libqmpi in tools that are compiled for the standard ABI. */
#define QMPI_ABI_SONAME "libqmpi-abi.so.0"

/* Whether this build is for the standard ABI. MPI_ABI_VERSION does not show this, because Open
 * MPI 6 defines it, too. */
#if defined(OPEN_MPI) || defined(MPICH_VERSION)
static const bool is_abi = false;
#else
static const bool is_abi = true;
#endif

struct features {
    bool registers;          /* refers to QMPI_Register_tool_name */
    bool init;               /* defines MPI_Get_library_version and PMPI_Get_library_version, so it
                                is an MPI library */
    int functions;           /* the number of MPI functions that it defines; 1 if only a library
                                that it needs defines some */
    bool procedures;         /* it defines procedures of MPI in Fortran */
    bool binding;            /* it is the Fortran binding of an MPI library */
    bool abi;                /* refers to QMPIX_abi_Register_tool_name: for the standard ABI */
    const char *unconverted; /* a function to which it refers, although tools for the standard ABI
                                cannot use it; NULL: none */
};

/* Whether a tool for the standard ABI can use a symbol in a program with another ABI. */
static bool is_converted(const char *name)
{
    if (strncmp(name, "MPI", 3) != 0 && strncmp(name, "PMPI", 4) != 0 &&
        strncmp(name, "QMPI", 4) != 0)
        return true;
    const char *const *known = qmpi_abi_exports;
    while (*known && strcmp(*known, name) != 0)
        known++;
    return *known || !strcmp(name, "QMPIX_stack"); /* this one is a variable */
}

static struct features read_features(const struct qmpi_elf_image *image)
{
    struct features features = {.registers = false};
    bool mpi = false, pmpi = false;
    for (size_t i = 0; i < image->symbol_count; i++) {
        const ElfW(Sym) *symbol = &image->symbols[i];
        const char *name = qmpi_elf_string(image, symbol->st_name);
        if (!qmpi_elf_defines(symbol)) {
            features.registers |= !strcmp(name, "QMPI_Register_tool_name");
            features.abi |= !strcmp(name, "QMPIX_abi_Register_tool_name");
            if (!features.unconverted && !is_converted(name))
                features.unconverted = name;
            continue;
        }
        features.functions += !strncmp(name, "MPI", 3) && qmpi_function_find(name) >= 0;
        features.procedures |= qmpi_binding_is_procedure(name);
        mpi |= !strcmp(name, "MPI_Get_library_version");
        pmpi |= !strcmp(name, "PMPI_Get_library_version");
    }
    features.init = mpi && pmpi;
    features.binding = features.procedures && !features.functions && qmpi_object_file_is_mpi(image);
    return features;
}

/* Returns the name of a needed library that shows that a tool was built for another MPI: an MPI
 * library other than the one in use, or the libqmpi for another MPI; NULL: none. A converted tool
 * may need an MPI library of the standard ABI, because libqmpi gets the calls of the tool in any
 * case. */
static const char *find_other_mpi(const struct qmpi_elf_image *image, const char *mpi_soname,
                                  bool converted)
{
    const char *needed;
    for (int i = 0; (needed = qmpi_elf_needed(image, i)); i++) {
        if (!strncmp(needed, "libmpich.so", 11) || !strncmp(needed, "libmpi.so", 9) ||
            (!strncmp(needed, "libmpi_abi.so", 13) && !converted)) {
            if (strcmp(needed, mpi_soname) != 0)
                return needed;
        } else if (!strncmp(needed, "libqmpi", 7) && strcmp(needed, QMPI_SONAME) != 0 &&
                   !(converted && !strcmp(needed, QMPI_ABI_SONAME))) {
            return needed;
        }
    }
    return NULL;
}

/* ---- Libraries that a tool needs ------------------------------------------------------------- */

struct dependencies {
    char **paths; /* paths that have been read */
    int count;
    const char *mpi_soname; /* NULL: unknown */
    bool wrappers;          /* one of the libraries defines MPI functions */
    char *other; /* another MPI library, for which one of the libraries was built; NULL: none */
};

static bool was_read(const struct dependencies *dependencies, const char *path)
{
    int i = 0;
    while (i < dependencies->count && strcmp(dependencies->paths[i], path) != 0)
        i++;
    return i < dependencies->count;
}

static void read_needed(struct dependencies *dependencies, const char *path,
                        const struct qmpi_elf_image *image);

static bool defines_wrappers(const struct qmpi_elf_image *image)
{
    const struct features features = read_features(image);
    return features.functions || features.procedures;
}

static void read_library(struct dependencies *dependencies, const char *path)
{
    struct qmpi_elf_file file;
    if (qmpi_elf_file_open(path, &file))
        return;
    if (!qmpi_object_file_is_mpi(&file.image)) {
        if (defines_wrappers(&file.image)) {
            const char *other = dependencies->mpi_soname
                                    ? find_other_mpi(&file.image, dependencies->mpi_soname, false)
                                    : NULL;
            if (other && !dependencies->other)
                dependencies->other = qmpi_copy(other);
            dependencies->wrappers = true;
        }
        read_needed(dependencies, path, &file.image);
    }
    qmpi_elf_file_close(&file);
}

static void read_needed(struct dependencies *dependencies, const char *path,
                        const struct qmpi_elf_image *image)
{
    const char *name;
    for (int i = 0; (name = qmpi_elf_needed(image, i)); i++) {
        char *found =
            qmpi_runtime_is(qmpi_text_base_name(name)) ? NULL : qmpi_elf_search(image, path, name);
        if (!found || was_read(dependencies, found)) {
            free(found);
            continue;
        }
        dependencies->paths =
            qmpi_memory_grow(dependencies->paths, dependencies->count, sizeof *dependencies->paths);
        dependencies->paths[dependencies->count++] = found;
        read_library(dependencies, found);
    }
}

/* Whether libraries that a tool needs define MPI functions, as in Score-P. If one of these
 * libraries was built for another MPI library, sets `*other` to the name of the latter, which the
 * caller frees; otherwise to NULL. */
static bool has_needed_wrappers(const char *path, const struct qmpi_elf_image *image,
                                const char *mpi_soname, char **other)
{
    struct dependencies dependencies = {.mpi_soname = mpi_soname};
    read_needed(&dependencies, path, image);
    for (int i = 0; i < dependencies.count; i++)
        free(dependencies.paths[i]);
    free(dependencies.paths);
    *other = dependencies.other;
    return dependencies.wrappers;
}

/* ---- Inspecting a library -------------------------------------------------------------------- */

/* Returns the name of a function without the prefix QMPIX_abi_. Names with this prefix are those
 * that the header for the standard ABI gives to functions of libqmpi; the message shows the name in
 * the source of the tool. */
static const char *plain_name(const char *name)
{
    static const char prefix[] = "QMPIX_abi_";
    return strncmp(name, prefix, sizeof prefix - 1) ? name : name + sizeof prefix - 1;
}

char *qmpi_library_inspect(const char *path, const char *mpi_soname, enum qmpi_library_kind *kind)
{
    struct qmpi_elf_file file;
    const char *reason = qmpi_elf_file_open(path, &file);
    if (reason)
        return qmpi_message("%s: %s\n"
                            "hint: give an intact tool library for this machine",
                            path, reason);
    struct features features = read_features(&file.image);
    const bool converted = features.abi && !is_abi;
    const char *other = mpi_soname ? find_other_mpi(&file.image, mpi_soname, converted) : NULL;
    char *needed_other = NULL;
    if (!features.registers && !features.abi && !features.functions && !features.procedures) {
        features.functions = has_needed_wrappers(path, &file.image, mpi_soname, &needed_other);
        other = other ? other : needed_other;
    }
    char *problem = NULL;
    if (features.init || features.binding) {
        problem =
            qmpi_message("%s is %s, not a tool\n"
                         "hint: give a tool library",
                         path, features.init ? "an MPI library" : "the Fortran binding of an MPI");
    } else if (other) {
        problem =
            qmpi_message("%s was built for another MPI: it needs %s, but the program uses %s\n"
                         "hint: build the tool with the program's MPI",
                         path, other, mpi_soname);
    } else if (converted && features.unconverted) {
        problem = qmpi_message(
            "%s is compiled for the standard ABI of MPI, and refers to %s, which cannot be "
            "converted for a program of another ABI\n"
            "hint: build the tool with pkg-config qmpi" QMPI_SUFFIX ", or do without this function",
            path, plain_name(features.unconverted));
    } else if (!features.registers && !features.abi && !features.functions &&
               !features.procedures) {
        problem = qmpi_message(
            "%s is not a tool: neither it nor a library that it needs registers a QMPI tool or "
            "defines MPI functions\n"
            "hint: give a tool library",
            path);
    } else {
        *kind = converted                            ? QMPI_KIND_ABI
                : features.registers || features.abi ? QMPI_KIND_QMPI
                                                     : QMPI_KIND_PMPI;
    }
    qmpi_elf_file_close(&file);
    free(needed_other);
    return problem;
}
