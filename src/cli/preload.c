/* SPDX-License-Identifier: MIT */
/*
 * What `qmpi run` preloads: libqmpi first, then its MPI functions are found before any other
 * library's; and behind it the tools of the stack that do not work, or not wholly, when they are
 * loaded later. The first layer of such a tool is then the object that is preloaded.
 */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/doctor/doctor.h"
#include "cli/manifests/manifests.h"

#include "config/config.h"
#include "elf/elf.h"
#include "generate/build.h"
#include "loader/loader.h"
#include "util/util.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether an LD_PRELOAD list has a path already. */
static bool lists(const char *list, const char *path)
{
    const size_t length = strlen(path);
    for (const char *at = list; (at = strstr(at, path)); at += length) {
        if ((at == list || strchr(": ", at[-1])) && (!at[length] || strchr(": ", at[length])))
            return true;
    }
    return false;
}

static void append(char **list, const char *path)
{
    char *longer = qmpi_format("%s:%s", *list, path);
    free(*list);
    *list = longer;
}

/* False: the run continues without it. */
static bool check_preloadable(const char *path, const char *hint)
{
    const char *obstacle = qmpi_loadable_path_obstacle(path);
    if (!obstacle)
        return true;
    const char *on_error = qmpi_setting("QMPI_ON_ERROR");
    const bool skips = on_error && !strcmp(on_error, "skip");
    if (qmpi_is_reporting_process())
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

/*
 * PMPI tools that also replace functions outside MPI (Darshan: open, read, …) see the program's
 * calls of those only where they are preloaded.
 */
char *cli_preload_reason(const char *path, const struct manifest *manifest)
{
    enum qmpi_kind kind;
    struct qmpi_elf_file file;
    char *reason = NULL, *problem = qmpi_kind_read(path, NULL, &kind);
    if (!problem && !qmpi_elf_file_open(path, &file)) {
        const char *obstacle = qmpi_loadable_obstacle(&file);
        char *replaced = kind == QMPI_KIND_PMPI ? qmpi_replaces(&file.image) : NULL;
        if (!replaced) /* those of other libraries than the C library */
            replaced = name_replaced(manifest);
        if (obstacle)
            reason = qmpi_message("it %s, which can prevent loading it later", obstacle);
        else if (replaced)
            reason = qmpi_message("it also replaces functions outside MPI: %-s", replaced);
        free(replaced);
        qmpi_elf_file_close(&file);
    }
    free(problem); /* whatever it is, start-up says it */
    return reason;
}

struct preload {
    char *list;
    const char *others, *tools_folder;
    const char *program; /* NULL: it is not the one that calls MPI, but starts that */
    bool converts;       /* the MPI library has another ABI than the standard one */
};

static bool needs(const char *path, const char *soname)
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

/* A tool that is compiled for the standard ABI needs libqmpi by another name: see
 * loader/abi_name.h. */
static void append_needed(struct preload *preload, const char *tool)
{
    char *name = preload->converts && needs(tool, "libqmpi-abi.so.0")
                     ? qmpi_find_abi_name(preload->tools_folder, tool)
                     : NULL;
    if (name && !lists(preload->list, name) &&
        check_preloadable(name, "install qmpi under another path"))
        append(&preload->list, name);
    free(name);
}

/* Whether the layer will certainly start switched off. What is not preloaded then sees no calls
 * outside MPI either. */
static bool starts_off(const struct preload *preload, const struct qmpi_entry *entry)
{
    if (!preload->program || !qmpi_condition_may_be_unmet(entry))
        return false;
    char *path = realpath(preload->program, NULL);
    const struct qmpi_place place = {qmpi_launcher_rank(), path, preload->program};
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

static void consider(struct preload *preload, struct manifest_layer *layer)
{
    const char *wish = layer->entry->reserved[QMPI_RESERVED_PRELOAD], *path = layer->path;
    if (!layer->is_first || (wish && !strcmp(wish, "no")) ||
        (starts_off(preload, layer->entry) && !cannot_be_loaded_later(path)))
        return;
    char *reason = cli_preload_reason(path, layer->manifest);
    layer->is_preloaded = lists(preload->list, path) || lists(preload->others, path);
    if ((reason || wish) && !layer->is_preloaded &&
        check_preloadable(path,
                          wish ? "move it to another path, or remove @preload=yes"
                               : "move it to another path, or give it the option @preload=no")) {
        append_needed(preload, path);
        append(&preload->list, path);
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

/* Whether an entry of LD_PRELOAD is a libqmpi, of whichever MPI. */
static bool is_libqmpi(const char *entry)
{
    if (!strchr(entry, '/')) /* the loader searches for it */
        return is_libqmpi_name(entry);
    struct doctor_object object = doctor_object_read(entry, false);
    free(object.problem);
    return object.qmpi;
}

/* LD_PRELOAD without any libqmpi: the one that belongs to the program's MPI is added, and two of
 * them do not go together. */
static char *other_libraries(void)
{
    const char *list = getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "";
    char *others = qmpi_copy("");
    while (*list) {
        const size_t length = strcspn(list, " :");
        char *entry = qmpi_copy_part(list, length);
        if (length && !is_libqmpi(entry)) {
            char *longer = qmpi_format("%s%s%s", others, *others ? ":" : "", entry);
            free(others);
            others = longer;
        }
        free(entry);
        list += length + (list[length] != '\0');
    }
    return others;
}

/* The file of the program if it is linked with MPI. A launcher, a script or a shell starts others,
 * with another environment perhaps; and `qmpi check` stands for any program. */
static char *find_mpi_program(const char *name)
{
    char *path = cli_program_find(name), *self = cli_command_path(QMPI_MPI);
    char *real = path ? realpath(path, NULL) : NULL;
    const bool is_substitute = doctor_is_launcher(name) || (real && self && !strcmp(real, self));
    char *library = path && !is_substitute ? doctor_find_mpi(path) : NULL;
    if (!library) {
        free(path);
        path = NULL;
    }
    free(library);
    free(real);
    free(self);
    return path;
}

static bool has_conditions(const struct manifest_stack *stack)
{
    bool any = false;
    for (int i = 0; i < stack->count; i++)
        any = any || qmpi_condition_may_be_unmet(stack->layers[i].entry);
    return any;
}

void cli_set_preload(struct manifest_stack *stack, const char *program)
{
    const struct cli_build *build = stack->build;
    if (!check_preloadable(build->library, "install qmpi under another path"))
        return;
    char *mpi_program = has_conditions(stack) ? find_mpi_program(program) : NULL;
    char *others = other_libraries();
    struct preload preload = {.list = qmpi_copy(build->library),
                              .others = others,
                              .program = mpi_program,
                              .tools_folder = build->tools_folder,
                              .converts = strcmp(build->mpi, "abi") != 0};
    for (int i = 0; i < stack->count; i++)
        consider(&preload, &stack->layers[i]);
    if (*others)
        append(&preload.list, others);
    cli_set_variable("LD_PRELOAD", preload.list);
    free(preload.list);
    free(mpi_program);
    free(others);
}
