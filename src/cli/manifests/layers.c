/* SPDX-License-Identifier: MIT */
/* See manifests.h: which library an entry of the stack stands for, and where its manifest is. */
#define _GNU_SOURCE
#include "cli/manifests/manifests.h"

#include "generate/build.h"
#include "loader/loader.h"
#include "util/util.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* What start-up refuses is not searched for: see startup/startup.c. */
enum { LAYERS_MAX = 255 };

/* The site's, then those of the installed tools. */
static const char *const *manifest_folders(void)
{
    static const char *folders[3];
    if (!folders[0]) {
        char *site = qmpi_site_folder();
        folders[0] = qmpi_format("%s/manifests", site);
        folders[1] = qmpi_format("%s/manifests", cli_tools_folder());
        free(site);
    }
    return folders;
}

struct manifest *manifest_of(const char *path, char **problem)
{
    char *wrong = NULL;
    struct manifest *manifest = manifest_find(path, manifest_folders(), &wrong);
    if (problem)
        *problem = wrong;
    else
        free(wrong);
    return manifest;
}

static void report(char *problem)
{
    char *hint = problem ? strstr(problem, "\nhint: ") : NULL;
    if (hint && qmpi_is_reporting_process()) {
        *hint = '\0';
        qmpi_printf("%-s\n  %-s\n  this manifest is not used", problem, hint + 1);
    }
    free(problem);
}

static bool add_layer(struct manifest_stack *stack, const struct qmpi_entry *entry)
{
    struct manifest_layer *layer = &stack->layers[stack->count];
    char *problem = NULL;
    *layer = (struct manifest_layer){.entry = entry, .is_first = true};
    if (entry->problem)
        return false;
    layer->found = qmpi_find_library(entry, stack->build->tools_folder, "", &problem);
    layer->path = layer->found ? realpath(layer->found, NULL) : NULL;
    free(problem); /* whatever it is, start-up says it */
    if (!layer->path) {
        free(layer->found);
        return false;
    }
    for (int i = 0; i < stack->count && layer->is_first; i++) {
        if (!strcmp(stack->layers[i].path, layer->path)) {
            layer->is_first = false;
            layer->manifest = stack->layers[i].manifest;
        }
    }
    if (layer->is_first) {
        layer->manifest = manifest_of(layer->found, &problem);
        report(problem);
    }
    layer->name =
        layer->manifest ? qmpi_copy(layer->manifest->name) : manifest_tool_name(layer->found);
    return true;
}

struct manifest_stack manifest_stack_read(const struct cli_build *build)
{
    struct manifest_stack stack = {.build = build};
    qmpi_stack_read(&stack.stack);
    const struct qmpi_tool_list *list = &stack.stack.layers;
    stack.layers = qmpi_allocate(LAYERS_MAX, sizeof *stack.layers);
    for (int i = 0; i < list->count && i < LAYERS_MAX; i++)
        stack.count += add_layer(&stack, &list->entries[i]);
    return stack;
}

void manifest_stack_free(struct manifest_stack *stack)
{
    for (int i = 0; i < stack->count; i++) {
        if (stack->layers[i].is_first)
            manifest_free(stack->layers[i].manifest);
        free(stack->layers[i].name);
        free(stack->layers[i].path);
        free(stack->layers[i].found);
    }
    free(stack->layers);
    qmpi_stack_free(&stack->stack);
}

bool manifest_layer_matches(const struct manifest_layer *layer, const char *pattern)
{
    const char *slash = strrchr(layer->found, '/');
    return !fnmatch(pattern, layer->name, 0) || !fnmatch(pattern, layer->entry->name, 0) ||
           !fnmatch(pattern, slash ? slash + 1 : layer->found, 0);
}
