/* SPDX-License-Identifier: MIT */
/*
 * The layers of the current stack, with the manifests of their tools. This part warns of a stack
 * that contradicts the manifests; only layers_check_conditions may end the command. No code of a
 * tool runs.
 */
#ifndef QMPI_CLI_LAYERS_H
#define QMPI_CLI_LAYERS_H

#include "cli/cli.h"
#include "cli/manifest/manifest.h"
#include "config/config.h"

#include <stdbool.h>

/* An entry of the stack whose library has been found. */
struct layer {
    const struct qmpi_tool_entry *entry;
    char *found;               /* the path of the library as it is given or found */
    char *path;                /* the same path without symbolic links */
    char *name;                /* the name of the tool, which its manifest or its file gives */
    struct manifest *manifest; /* NULL if there is none */
    bool is_first;             /* this is the first layer of the library */
    bool is_preloaded;         /* set by cli_set_preload */
};

struct layers {
    const struct cli_build *build;
    struct qmpi_stack stack;
    struct layer *all;
    int count;
    int left_out; /* by layers_check_conditions; these layers follow the others in `all` */
};

/* Reads the current stack. One process of the job reports invalid manifests. */
struct layers layers_read(const struct cli_build *build);

void layers_free(struct layers *stack);

/* Returns the manifest of a library, or NULL if it has none or an invalid one. If `problem` is not
 * NULL, `*problem` becomes the reason why the manifest is invalid, which the caller frees, or
 * NULL. */
struct manifest *layers_find_manifest(const char *path, char **problem);

/* If the wrappers of a tool communicate, refuses its layers that are on only some ranks, unless
 * they have the option @force=yes. Ends the command, or leaves such a layer out if errors are
 * skipped. */
void layers_check_conditions(struct layers *stack);

/* Warns of a stack that contradicts the manifests. Only one process of the job prints warnings. */
void layers_warn(const struct layers *stack);
#endif
