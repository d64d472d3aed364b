/* SPDX-License-Identifier: MIT */
/*
 * This part chooses the libraries that `qmpi run` preloads. libqmpi comes first, so that its MPI
 * functions are found before those of any other library. Next come those tools of the stack that do
 * not work completely if they are loaded later. The first layer of such a tool uses the preloaded
 * object. Only libraries of sanitizers that the user preloads precede libqmpi. The library of a
 * sanitizer that a program needs is not preloaded, because all programs that this program starts
 * would get it, too.
 */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/layers.h"
#include "cli/program.h"

#include "config/config.h"
#include "elf/elf.h"
#include "generate/build.h"
#include "loader/loader.h"
#include "process/process.h"
#include "util/util.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns whether an LD_PRELOAD list contains a path. */
static bool has_entry(const char *list, const char *path)
{
    const size_t length = strlen(path);
    for (const char *at = list; (at = strstr(at, path)); at += length) {
        if ((at == list || strchr(": ", at[-1])) && (!at[length] || strchr(": ", at[length])))
            return true;
    }
    return false;
}

static void add_to_list(char **list, const char *entry)
{
    char *longer = qmpi_format("%s%s%s", *list, **list ? ":" : "", entry);
    free(*list);
    *list = longer;
}

/* Returns whether the dynamic loader can preload a library. If not, reports this, and ends the
 * command unless errors are skipped. */
static bool check_preloadable(const char *path, const char *hint)
{
    const char *obstacle = qmpi_loadable_path_obstacle(path);
    if (!obstacle)
        return true;
    const char *on_error = qmpi_setting("QMPI_ON_ERROR");
    const bool skips = on_error && !strcmp(on_error, "skip");
    if (qmpi_launcher_reports())
        qmpi_printf("%s cannot be preloaded: the dynamic loader does not accept a path with %s\n"
                    "  hint: %s%-s",
                    path, obstacle, hint,
                    skips ? "\n  the run continues without preloading it (QMPI_ON_ERROR=skip)"
                          : "");
    if (!skips)
        exit(2);
    return false;
}

static char *name_replaced(const struct manifest *manifest)
{
    const int count = manifest ? manifest->replaces.count : 0;
    return !count       ? NULL
           : count == 1 ? qmpi_message("%s", manifest->replaces.items[0])
                        : qmpi_message("%s and %d more", manifest->replaces.items[0], count - 1);
}

/* Some PMPI tools also replace functions outside MPI, as Darshan replaces open and read. They see
 * the program's calls of these functions only if they are preloaded. */
char *cli_preload_reason(const char *path, const struct manifest *manifest)
{
    enum qmpi_library_kind kind;
    struct qmpi_elf_file file;
    char *reason = NULL, *problem = qmpi_library_inspect(path, NULL, &kind);
    if (!problem && !qmpi_elf_file_open(path, &file)) {
        const char *obstacle = qmpi_loadable_obstacle(&file);
        char *replaced = kind == QMPI_KIND_PMPI ? qmpi_loadable_interposed(&file.image) : NULL;
        if (!replaced) /* The tool may replace functions of other libraries than the C library. */
            replaced = name_replaced(manifest);
        if (obstacle)
            reason = qmpi_message("it %s, which can prevent loading it later", obstacle);
        else if (replaced)
            reason = qmpi_message("it also replaces functions outside MPI: %-s", replaced);
        free(replaced);
        qmpi_elf_file_close(&file);
    }
    free(problem); /* Start-up reports the problem. */
    return reason;
}

struct preload {
    char *list;         /* the new value of LD_PRELOAD */
    const char *others; /* see struct listed */
    const char *tools_folder;
    const char *program; /* the program's file, or NULL if it is not linked with MPI or no layer has
                            a condition */
    bool converts;       /* the MPI library does not have the standard ABI */
};

static bool needs_library(const char *path, const char *soname)
{
    struct qmpi_elf_file file;
    const char *needed = NULL;
    if (qmpi_elf_file_open(path, &file))
        return false;
    for (int i = 0; (needed = qmpi_elf_needed(&file.image, i)) && strcmp(needed, soname) != 0; i++)
        ;
    qmpi_elf_file_close(&file);
    return needed != NULL;
}

/* Adds libqmpi under the other name by which a tool for the standard ABI needs it (open_abi_name in
 * startup/startup.c). */
static void append_needed(struct preload *preload, const char *tool)
{
    char *name = preload->converts && needs_library(tool, "libqmpi-abi.so.0")
                     ? qmpi_library_find_abi_name(preload->tools_folder, tool)
                     : NULL;
    if (name && !has_entry(preload->list, name) &&
        check_preloadable(name, "install qmpi under another path"))
        add_to_list(&preload->list, name);
    free(name);
}

/* Returns whether the layer will certainly start switched off. Such a layer need not see calls
 * outside MPI. */
static bool starts_off(const struct preload *preload, const struct qmpi_tool_entry *entry)
{
    if (!preload->program || !qmpi_condition_may_be_unmet(entry))
        return false;
    char *path = realpath(preload->program, NULL);
    const struct qmpi_condition_place place = {qmpi_launcher_rank(), path, preload->program, false};
    char *unmet = qmpi_condition_unmet(entry, &place);
    const bool off = unmet != NULL;
    free(unmet);
    free(path);
    return off;
}

static bool cannot_be_loaded_later(const char *path)
{
    struct qmpi_elf_file file;
    if (qmpi_elf_file_open(path, &file))
        return false;
    const bool cannot = qmpi_loadable_obstacle(&file) != NULL;
    qmpi_elf_file_close(&file);
    return cannot;
}

static void consider_layer(struct preload *preload, struct layer *layer)
{
    const char *wish = layer->entry->reserved[QMPI_RESERVED_PRELOAD], *path = layer->path;
    if (!layer->is_first || (wish && !strcmp(wish, "no")) ||
        (starts_off(preload, layer->entry) && !cannot_be_loaded_later(path)))
        return;
    char *reason = cli_preload_reason(path, layer->manifest);
    layer->is_preloaded = has_entry(preload->list, path) || has_entry(preload->others, path);
    if ((reason || wish) && !layer->is_preloaded &&
        check_preloadable(path,
                          wish ? "move it to another path, or remove @preload=yes"
                               : "move it to another path, or give it the option @preload=no")) {
        append_needed(preload, path);
        add_to_list(&preload->list, path);
        layer->is_preloaded = true;
    }
    free(reason);
}

static bool is_libqmpi_name(const char *name)
{
    bool is = false;
    for (int kind = 0; kind < QMPI_MPI_KINDS; kind++) {
        char *start = qmpi_format("libqmpi%s.so", qmpi_mpi_descriptions[kind].suffix);
        is = is || !strncmp(name, start, strlen(start));
        free(start);
    }
    return is;
}

/* Returns whether an entry of LD_PRELOAD is a libqmpi for any MPI. */
static bool is_libqmpi(const char *entry)
{
    if (!strchr(entry, '/')) /* The loader searches for the file, so only the name is known. */
        return is_libqmpi_name(entry);
    struct program_object object = program_object_read(entry, false);
    free(object.problem);
    return object.qmpi;
}

bool cli_preload_is_foreign_any(const char *entry, const char *library)
{
    static const char name[] = "libqmpi-any.so";
    if (strcmp(qmpi_text_base_name(entry), name) != 0)
        return false;
    char *loaded = program_find_preloaded(entry);
    char *real = realpath(loaded ? loaded : entry, NULL);
    char *own =
        qmpi_format("%.*s/qmpi-any/%s", (int)(strrchr(library, '/') - library), library, name);
    const bool is_foreign = !real || strcmp(real, own) != 0;
    free(own);
    free(real);
    free(loaded);
    return is_foreign;
}

/* The libraries of LD_PRELOAD, separated by colons. They do not contain any libqmpi, because two of
 * them conflict, and the one for the program's MPI is added. For the same reason, they do not
 * contain a libqmpi-any that would choose among the libqmpis of another installation. */
struct listed {
    char *sanitizers, *others;
};

static struct listed read_listed(const char *library)
{
    const char *list = getenv("LD_PRELOAD");
    struct listed listed = {qmpi_copy(""), qmpi_copy("")};
    for (char *entry; (entry = cli_next_part(&list, " :"));) {
        if (qmpi_runtime_is_sanitizer(qmpi_text_base_name(entry)))
            add_to_list(&listed.sanitizers, entry);
        else if (!is_libqmpi(entry) && !cli_preload_is_foreign_any(entry, library))
            add_to_list(&listed.others, entry);
        free(entry);
    }
    return listed;
}

static bool needs_sanitizer(const struct qmpi_elf_image *image)
{
    const char *needed;
    for (int i = 0; (needed = qmpi_elf_needed(image, i)); i++) {
        if (qmpi_runtime_is_sanitizer(needed))
            return true;
    }
    return false;
}

/* Sets the options for AddressSanitizer if the program defines options of its own, because
 * AddressSanitizer then does not read those of libqmpi (process/sanitizers.c). Options of the user
 * take precedence. */
static void set_sanitizer_options(const char *name)
{
    struct qmpi_elf_file file;
    char *path = program_find(name);
    if (path && !qmpi_elf_file_open_program(path, &file)) {
        struct program_object object = program_object_read(path, true);
        const char *options = getenv("ASAN_OPTIONS");
        char *longer = qmpi_format("%s%s%s", QMPI_SANITIZER_OPTION, options ? ":" : "",
                                   options ? options : "");
        if (needs_sanitizer(&file.image) && object.sets_asan)
            cli_set_variable("ASAN_OPTIONS", longer);
        free(object.problem);
        free(longer);
        qmpi_elf_file_close(&file);
    }
    free(path);
}

/* Returns the file of the program if it is linked with MPI, or NULL if it is not. Also returns NULL
 * for a launcher, which may start programs in another environment, and for `qmpi check`, which
 * stands for any program. */
static char *find_mpi_program(const char *name)
{
    char *path = program_find(name), *self = cli_build_find_command(QMPI_MPI);
    char *real = path ? realpath(path, NULL) : NULL;
    const bool is_substitute = program_is_launcher(name) || (real && self && !strcmp(real, self));
    char *library = path && !is_substitute ? program_find_mpi(path) : NULL;
    if (!library) {
        free(path);
        path = NULL;
    }
    free(library);
    free(real);
    free(self);
    return path;
}

static bool has_conditions(const struct layers *layers)
{
    bool any = false;
    for (int i = 0; i < layers->count; i++)
        any = any || qmpi_condition_may_be_unmet(layers->all[i].entry);
    return any;
}

void cli_set_preload(struct layers *layers, const char *program)
{
    const struct cli_build *build = layers->build;
    if (!check_preloadable(build->library, "install qmpi under another path"))
        return;
    char *mpi_program = has_conditions(layers) ? find_mpi_program(program) : NULL;
    struct listed listed = read_listed(build->library);
    struct preload preload = {.list = qmpi_copy(build->library),
                              .others = listed.others,
                              .program = mpi_program,
                              .tools_folder = build->tools_folder,
                              .converts = strcmp(build->mpi, "abi") != 0};
    for (int i = 0; i < layers->count; i++)
        consider_layer(&preload, &layers->all[i]);
    if (*listed.others)
        add_to_list(&preload.list, listed.others);
    char *list =
        qmpi_format("%s%s%s", listed.sanitizers, *listed.sanitizers ? ":" : "", preload.list);
    cli_set_variable("LD_PRELOAD", list);
    if (!*listed.sanitizers)
        set_sanitizer_options(program);
    free(list);
    free(preload.list);
    free(mpi_program);
    free(listed.sanitizers);
    free(listed.others);
}

/* ---- This command ---------------------------------------------------------------------------- */

/* Returns the real path of the libqmpi that the dynamic loader would give this command without
 * LD_PRELOAD, or NULL. The caller frees it. */
static char *find_own_library(const char *command)
{
    struct qmpi_elf_file file;
    if (qmpi_elf_file_open_program(command, &file))
        return NULL;
    char *found = qmpi_elf_search(&file.image, command, QMPI_SONAME);
    char *real = found ? realpath(found, NULL) : NULL;
    qmpi_elf_file_close(&file);
    free(found);
    return real;
}

void cli_use_own_library(char **arguments)
{
    static const char preload[] = "LD_PRELOAD", saved[] = "QMPI_COMMAND_PRELOAD";
    const char *old = getenv(preload), *before = getenv(saved);
    if (before) {
        cli_set_variable(preload, before);
        unsetenv(saved);
        return;
    }
    if (!old)
        return;
    char *command = realpath("/proc/self/exe", NULL);
    char *own = command ? find_own_library(command) : NULL;
    if (own && strcmp(own, cli_library_path()) != 0) {
        struct listed listed = read_listed(own);
        char *list =
            qmpi_format("%s%s%s", listed.sanitizers, *listed.sanitizers ? ":" : "", listed.others);
        char *value = qmpi_copy(old);
        cli_set_variable(saved, value);
        cli_set_variable(preload, list);
        execv(command, arguments);
        cli_set_variable(preload, value);
        unsetenv(saved);
        free(value);
        free(list);
        free(listed.sanitizers);
        free(listed.others);
    }
    free(own);
    free(command);
}
