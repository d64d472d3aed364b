/* SPDX-License-Identifier: MIT */
/* The document of a manifest: see manifest.h. Members that are not known are ignored. */
#define _GNU_SOURCE
#include "manifest/member.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

static const char schema[] = "qmpi-manifest/";

/* ---- Parts of the document ------------------------------------------------------------------- */

static void read_option(const struct member_source *source, void *data)
{
    struct manifest_options *options = data;
    options->items = qmpi_grow(options->items, options->count, sizeof *options->items);
    options->items[options->count++] =
        (struct manifest_option){member_required_text(source, "name"),
                                 member_text(source, "default"), member_text(source, "help")};
}

static void read_conflict(const struct member_source *source, void *data)
{
    static const char *const when[] = {"always", "preloaded", NULL};
    struct manifest *manifest = data;
    manifest->conflicts =
        qmpi_grow(manifest->conflicts, manifest->conflict_count, sizeof *manifest->conflicts);
    manifest->conflicts[manifest->conflict_count++] = (struct manifest_conflict){
        member_required_text(source, "tool"), member_text(source, "reason"),
        member_choice(source, "when", when, "one of always, preloaded", 0) == 1};
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

/* true, false, or the options with which it does. */
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

/* Versions after 1 may mean something else by the same members. */
static void check_schema(const struct member_source *root)
{
    const json_t *value = json_object_get(root->object, "schema");
    const char *text = json_string_value(value);
    if (!text || strcmp(text, "qmpi-manifest/1") != 0)
        member_fail(root, "schema", "qmpi-manifest/1");
}

bool manifest_is_meant(const char *text, size_t size)
{
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
    check_schema(&root); /* an array has no members, and fails here */
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
        &manifest->notes};
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
