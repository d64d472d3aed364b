/* SPDX-License-Identifier: MIT */
/* See manifests.h: what the manifest of one layer says about its surroundings. */
#define _GNU_SOURCE
#include "cli/manifests/manifests.h"

#include "elf/elf.h"
#include "generate/build.h"
#include "loader/loader.h"
#include "process/process.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* qmpi doctor recognizes a warning by "(manifest: ". */
void manifest_say(const struct manifest_layer *layer, const char *warning, const char *hint)
{
    char *where = qmpi_problem_where(layer->entry);
    qmpi_printf("%-s: %-s\n  hint: %-s (manifest: %s)", where, warning, hint,
                layer->manifest->path);
    free(where);
}

static char *list_names(const struct manifest_list *list)
{
    char *all = qmpi_copy("");
    for (int i = 0; i < list->count; i++) {
        char *longer = qmpi_message("%-s%s%s", all, i ? ", " : "", list->items[i]);
        free(all);
        all = longer;
    }
    return all;
}

/* ---- What a layer needs ---------------------------------------------------------------------- */

static bool is_there(const struct manifest_stack *stack, const struct manifest_layer *layer,
                     const char *pattern)
{
    for (int i = 0; i < stack->count; i++) {
        if (&stack->layers[i] != layer && manifest_layer_matches(&stack->layers[i], pattern))
            return true;
    }
    return false;
}

static bool is_set(const struct qmpi_entry *entry, const char *variable)
{
    for (int i = 0; i < entry->option_count; i++) {
        if (!strncmp(entry->options[i].key, "env.", 4) &&
            !strcmp(entry->options[i].key + 4, variable))
            return true;
    }
    return getenv(variable) != NULL;
}

static void warn_of_needs(const struct manifest_stack *stack, const struct manifest_layer *layer)
{
    const struct manifest *manifest = layer->manifest;
    for (int i = 0; i < manifest->needed_tools.count; i++) {
        const char *pattern = manifest->needed_tools.items[i];
        if (is_there(stack, layer, pattern))
            continue;
        char *warning = qmpi_message("needs the tool '%s', which is not in the stack", pattern);
        char *hint = qmpi_message("add '%s' to the stack", pattern);
        manifest_say(layer, warning, hint);
        free(hint);
        free(warning);
    }
    for (int i = 0; i < manifest->needed_variables.count; i++) {
        const char *variable = manifest->needed_variables.items[i];
        if (is_set(layer->entry, variable))
            continue;
        char *warning =
            qmpi_message("needs the environment variable %s, which is not set", variable);
        char *hint =
            qmpi_message("set %s, or give the layer the option env.%s=VALUE", variable, variable);
        manifest_say(layer, warning, hint);
        free(hint);
        free(warning);
    }
}

/* ---- The MPI --------------------------------------------------------------------------------- */

static bool is_built_for(const struct manifest *manifest, const char *mpi)
{
    for (int i = 0; i < manifest->mpi.count; i++) {
        const char *built = manifest->mpi.items[i];
        /* QMPI tools that are compiled for the standard ABI run in the programs of all MPIs. */
        if (!strcmp(built, mpi) || (manifest->kind == MANIFEST_QMPI && !strcmp(built, "abi")))
            return true;
    }
    return !manifest->mpi.count;
}

/* What its library shows is said when the stack is built. */
static bool is_refused(const struct manifest_stack *stack, const struct manifest_layer *layer)
{
    enum qmpi_kind kind;
    const bool is_default = !strcmp(stack->build->mpi, QMPI_MPI);
    char *problem = qmpi_kind_read(layer->path, is_default ? QMPI_MPI_SONAME : NULL, &kind);
    const bool refused = problem != NULL;
    free(problem);
    return refused;
}

static void warn_of_mpi(const struct manifest_stack *stack, const struct manifest_layer *layer)
{
    if (is_built_for(layer->manifest, stack->build->mpi) || is_refused(stack, layer))
        return;
    char *names = list_names(&layer->manifest->mpi);
    char *warning = qmpi_message("built for %-s, but this run uses %s", names, stack->build->mpi);
    char *hint = qmpi_message("use a build of this tool for %s", stack->build->mpi);
    manifest_say(layer, warning, hint);
    free(hint);
    free(warning);
    free(names);
}

/* ---- Preloading ------------------------------------------------------------------------------ */

/* If the library shows it, start-up says so: see pmpi/load.c. */
static bool is_said(const struct manifest_layer *layer)
{
    struct qmpi_elf_file file;
    if (qmpi_elf_file_open(layer->path, &file))
        return true;
    char *names = qmpi_replaces(&file.image);
    const bool said = names != NULL;
    free(names);
    qmpi_elf_file_close(&file);
    return said;
}

static void warn_of_preloading(const struct manifest_layer *layer)
{
    const char *wish = layer->entry->reserved[QMPI_RESERVED_PRELOAD];
    if (!layer->manifest->replaces.count || layer->is_first || layer->is_preloaded ||
        (wish && !strcmp(wish, "no")) || is_said(layer))
        return;
    char *names = list_names(&layer->manifest->replaces), *shown = qmpi_shorten(names);
    char *warning = qmpi_message("also replaces functions outside MPI (%s), but does not see the "
                                 "program's calls of them: only the first layer of a library is "
                                 "preloaded",
                                 shown);
    manifest_say(layer, warning,
                 "remove this layer, or give it the option @preload=no if MPI calls suffice");
    free(warning);
    free(shown);
    free(names);
}

/* ---- All rules ------------------------------------------------------------------------------- */

void manifest_warn(const struct manifest_stack *stack)
{
    if (!qmpi_is_reporting_process())
        return;
    manifest_warn_of_places(stack);
    manifest_warn_of_conflicts(stack);
    manifest_warn_of_shared_files(stack);
    for (int i = 0; i < stack->count; i++) {
        const struct manifest_layer *layer = &stack->layers[i];
        if (!layer->manifest)
            continue;
        warn_of_needs(stack, layer);
        warn_of_mpi(stack, layer);
        warn_of_preloading(layer);
    }
}
