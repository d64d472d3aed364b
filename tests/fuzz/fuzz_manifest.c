/* SPDX-License-Identifier: MIT */
/* Fuzz target: any bytes as a manifest. The result must have the properties that
 * cli/manifest/manifest.h states. */
#define _GNU_SOURCE
#include "cli/manifest/manifest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_manifest: %s\n", what);
    abort();
}

/* NULL is allowed for a member that is not required. */
static void check_text(const char *text, bool required)
{
    require(text || !required, "a text is missing");
    require(!text || (*text && !strpbrk(text, "\r\n")), "a text that is not one line");
}

static void check_list(const struct manifest_list *list)
{
    for (int i = 0; i < list->count; i++)
        check_text(list->items[i], true);
}

static void check_options(const struct manifest_options *options)
{
    for (int i = 0; i < options->count; i++) {
        check_text(options->items[i].name, true);
        check_text(options->items[i].default_value, false);
        check_text(options->items[i].help, false);
    }
}

static void check(const struct manifest *manifest)
{
    require(!strcmp(manifest->path, "/folder/tool.json"), "another path");
    check_text(manifest->name, true);
    check_text(manifest->description, true);
    require(manifest->kind >= MANIFEST_KIND_UNKNOWN && manifest->kind <= MANIFEST_MPICH,
            "an unknown kind");
    require(manifest->place >= MANIFEST_ANYWHERE && manifest->place <= MANIFEST_MPI,
            "an unknown place");
    check_text(manifest->place_reason, false);
    check_list(&manifest->mpi);
    check_options(&manifest->options);
    check_options(&manifest->environment);
    check_list(&manifest->needed_tools);
    check_list(&manifest->needed_variables);
    check_list(&manifest->replaces);
    check_list(&manifest->communicates_with);
    check_list(&manifest->output_files);
    check_list(&manifest->notes);
    check_text(manifest->output_option, false);
    for (int i = 0; i < manifest->conflict_count; i++) {
        check_text(manifest->conflicts[i].tool, true);
        check_text(manifest->conflicts[i].reason, false);
    }
    for (int i = 0; i < manifest->communicates_with.count; i++)
        require(strchr(manifest->communicates_with.items[i], '=') != NULL, "no option");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *problem = NULL;
    char *text = malloc(size ? size : 1); /* of exactly this size, so that reading beyond it is
                                             detected */
    require(text != NULL, "out of memory");
    memcpy(text, data, size);
    struct manifest *manifest = manifest_parse(text, size, "/folder/tool.json", "tool", &problem);
    require(!(manifest && problem), "a manifest with a problem");
    require(!(manifest || problem) || manifest_is_meant(text, size), "something else was read");
    require(manifest || problem || !manifest_is_meant(text, size), "neither manifest nor problem");
    if (manifest)
        check(manifest);
    if (problem) {
        require(!strncmp(problem, "/folder/tool.json: ", 19), "a problem that names no file");
        require(strstr(problem, "\nhint: ") != NULL, "a problem without a hint");
    }
    manifest_free(manifest);
    free(problem);
    free(text);
    return 0;
}
