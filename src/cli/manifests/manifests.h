/* SPDX-License-Identifier: MIT */
/*
 * The layers of the current stack with the manifests of their tools, and what these say about the
 * stack. No code of a tool is run. What contradicts a manifest is a warning: the run goes on.
 */
#ifndef QMPI_CLI_MANIFESTS_MANIFESTS_H
#define QMPI_CLI_MANIFESTS_MANIFESTS_H

#include "cli/cli.h"
#include "config/config.h"
#include "manifest/manifest.h"

#include <stdbool.h>

/* An entry of the stack whose library has been found. */
struct manifest_layer {
    const struct qmpi_entry *entry;
    char *found;               /* the library's path as it is given or found */
    char *path;                /* the same without links */
    char *name;                /* the tool's, by its manifest or its file */
    struct manifest *manifest; /* NULL: none */
    bool is_first;             /* the first layer of this library */
    bool is_preloaded;         /* set by cli_set_preload */
};

struct manifest_stack {
    const struct cli_build *build;
    struct qmpi_tool_stack stack;
    struct manifest_layer *layers;
    int count;
};

/* Reads the current stack. Invalid manifests are reported, by one process of the job. */
struct manifest_stack manifest_stack_read(const struct cli_build *build);

void manifest_stack_free(struct manifest_stack *stack);

/* Returns the manifest of a library; NULL: there is none that is valid. If `problem` is not NULL,
 * it receives what is wrong with an invalid one, to be freed. */
struct manifest *manifest_of(const char *path, char **problem);

/* Refuses tools whose wrappers communicate in layers that are on some ranks only: ends the command,
 * or leaves the layer out if errors are skipped. In conditions.c. */
void manifest_check_conditions(const struct manifest_stack *stack);

/* Whether the user wants the layer to stand where something else excludes it. In conditions.c. */
bool manifest_layer_is_forced(const struct manifest_layer *layer);

/* Warns about what contradicts the manifests, by one process of the job. In rules.c. */
void manifest_warn(const struct manifest_stack *stack);

/* Whether a text, or one of the names of a layer, matches a pattern. */
bool manifest_layer_matches(const struct manifest_layer *layer, const char *pattern);

/* Prints a warning with a hint; the hint names the manifest. In rules.c. */
void manifest_say(const struct manifest_layer *layer, const char *warning, const char *hint);

/* The rules about pairs of layers. In pairs.c. */
void manifest_warn_of_places(const struct manifest_stack *stack);
void manifest_warn_of_conflicts(const struct manifest_stack *stack);
void manifest_warn_of_shared_files(const struct manifest_stack *stack);

#endif
