/* SPDX-License-Identifier: MIT */
/*
 * See manifests.h: a tool whose wrappers communicate waits for ever if it is on some ranks only.
 */
#define _GNU_SOURCE
#include "cli/manifests/manifests.h"

#include "loader/loader.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

bool manifest_layer_is_forced(const struct manifest_layer *layer)
{
    const char *value = layer->entry->reserved[QMPI_RESERVED_FORCE];
    return value && !strcmp(value, "yes");
}

/* Whether an entry has an option, KEY=VALUE. */
static bool has_option(const struct qmpi_entry *entry, const char *option)
{
    const size_t length = strcspn(option, "=");
    for (int i = 0; i < entry->option_count; i++) {
        const struct qmpi_option *given = &entry->options[i];
        if (strlen(given->key) == length && !strncmp(given->key, option, length) &&
            !strcmp(given->value, option + length + 1))
            return true;
    }
    return false;
}

/* Returns what makes it communicate: an option, or an empty text; NULL: nothing does. */
static const char *find_communication(const struct manifest_layer *layer)
{
    const struct manifest *manifest = layer->manifest;
    if (manifest->communicates)
        return "";
    for (int i = 0; i < manifest->communicates_with.count; i++) {
        if (has_option(layer->entry, manifest->communicates_with.items[i]))
            return manifest->communicates_with.items[i];
    }
    return NULL;
}

/* As a pattern of QMPI_DISABLE. */
static void leave_out(const struct manifest_layer *layer)
{
    const char *before = qmpi_getenv("QMPI_DISABLE");
    char *pattern = qmpi_allocate(2 * strlen(layer->entry->name) + 1, 1), *to = pattern;
    for (const char *from = layer->entry->name; *from; from++) {
        if (strchr("*?[\\", *from))
            *to++ = '\\';
        *to++ = *from;
    }
    char *list = before ? qmpi_format("%s:%s", before, pattern) : qmpi_copy(pattern);
    cli_set_variable("QMPI_DISABLE", list);
    free(list);
    free(pattern);
}

void manifest_check_conditions(const struct manifest_stack *stack)
{
    bool stops = false;
    for (int i = 0; i < stack->count; i++) {
        const struct manifest_layer *layer = &stack->layers[i];
        const char *condition = layer->manifest && !manifest_layer_is_forced(layer)
                                    ? qmpi_condition_that_varies(layer->entry)
                                    : NULL;
        const char *with = condition ? find_communication(layer) : NULL;
        if (!with)
            continue;
        const bool skips = qmpi_skips_errors(layer->entry->on_error);
        char *where = qmpi_problem_where(layer->entry);
        if (qmpi_is_reporting_process())
            qmpi_printf(
                "%-s: the wrappers of this tool communicate%s%s, so it must be on all ranks, "
                "without %s\n  hint: remove this option; if you know that it works, add the option "
                "@force=yes "
                "(manifest: %s)%-s",
                where, *with ? " with " : "", with, condition, layer->manifest->path,
                skips ? "\n  the run continues without this layer" : "");
        free(where);
        if (skips)
            leave_out(layer);
        stops |= !skips;
    }
    if (stops)
        exit(2);
}
