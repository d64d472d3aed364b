/* SPDX-License-Identifier: MIT */
/* See manifests.h: what manifests say about two layers of a stack. */
#define _GNU_SOURCE
#include "cli/manifests/manifests.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* How another layer is named in a warning; to be freed. */
static char *name_layer(const struct manifest_layer *layer)
{
    return qmpi_message("%s (%s %d)", layer->name, layer->entry->line ? "line" : "entry",
                        layer->entry->line ? layer->entry->line : layer->entry->position);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static enum manifest_place place_of(const struct manifest_layer *layer)
{
    return layer->manifest ? layer->manifest->place : MANIFEST_ANYWHERE;
}

/* Whether one list contains both layers: there they can change places. */
static bool is_in_list_of(const struct manifest_layer *layer, const struct manifest_layer *other)
{
    const char *one = layer->entry->part, *two = other->entry->part;
    return layer->entry->scope == other->entry->scope &&
           (one && two ? !strcmp(one, two) : one == two);
}

/* The layers of the list that contains `layer`, in the order that suits all manifests; to be freed.
 */
static char *find_order(const struct manifest_stack *stack, const struct manifest_layer *layer)
{
    static const enum manifest_place order[] = {MANIFEST_APPLICATION, MANIFEST_ANYWHERE,
                                                MANIFEST_MPI};
    char *names = qmpi_copy("");
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        for (int i = 0; i < stack->count; i++) {
            const struct qmpi_entry *entry = stack->layers[i].entry;
            if (place_of(&stack->layers[i]) != order[k] || !is_in_list_of(layer, &stack->layers[i]))
                continue;
            char *longer = qmpi_message("%-s%s%s", names, *names ? ":" : "",
                                        entry->line ? entry->name : entry->text);
            free(names);
            names = longer;
        }
    }
    return names;
}

static char *advise_order(const struct manifest_stack *stack, const struct manifest_layer *layer,
                          const struct manifest_layer *wrong)
{
    const bool one_list = is_in_list_of(layer, wrong);
    char *what = one_list ? find_order(stack, layer) : qmpi_entry_source(wrong->entry);
    char *hint = one_list
                     ? qmpi_message("the right order is %-s", what)
                     : qmpi_message("change where one of the two is listed; %s is listed in %s",
                                    wrong->name, what);
    free(what);
    return hint;
}

/* The nearest layer on the side where only layers of the same place may stand; NULL: none. */
static const struct manifest_layer *find_wrong(const struct manifest_stack *stack, int index)
{
    const enum manifest_place place = place_of(&stack->layers[index]);
    const int step = place == MANIFEST_APPLICATION ? -1 : place == MANIFEST_MPI ? 1 : 0;
    for (int i = index + step; step && i >= 0 && i < stack->count; i += step) {
        if (place_of(&stack->layers[i]) != place)
            return &stack->layers[i];
    }
    return NULL;
}

void manifest_warn_of_places(const struct manifest_stack *stack)
{
    for (int i = 0; i < stack->count; i++) {
        const struct manifest_layer *layer = &stack->layers[i], *wrong = find_wrong(stack, i);
        if (!wrong)
            continue;
        const bool top = place_of(layer) == MANIFEST_APPLICATION;
        const char *reason = layer->manifest->place_reason;
        char *other = name_layer(wrong), *hint = advise_order(stack, layer, wrong);
        char *warning =
            qmpi_message("belongs near %s, %s %-s%s%s", top ? "the application" : "MPI",
                         top ? "above" : "below", other, reason ? ": " : "", reason ? reason : "");
        manifest_say(layer, warning, hint);
        free(hint);
        free(warning);
        free(other);
    }
}

/* ---- Conflicts ------------------------------------------------------------------------------- */

static const struct manifest_conflict *find_conflict(const struct manifest_layer *layer,
                                                     const struct manifest_layer *other)
{
    const struct manifest *manifest = layer->manifest;
    const bool preloaded = layer->is_preloaded || other->is_preloaded;
    for (int i = 0; manifest && i < manifest->conflict_count; i++) {
        const struct manifest_conflict *conflict = &manifest->conflicts[i];
        if ((preloaded || !conflict->preloaded) && manifest_layer_matches(other, conflict->tool))
            return conflict;
    }
    return NULL;
}

static void warn_of_conflict(const struct manifest_layer *layer, const struct manifest_layer *other)
{
    const struct manifest_conflict *conflict = find_conflict(layer, other);
    if (!conflict) { /* the other manifest may say it */
        const struct manifest_layer *first = layer;
        layer = other;
        other = first;
        conflict = find_conflict(layer, other);
    }
    if (!conflict || manifest_layer_is_forced(layer) || manifest_layer_is_forced(other))
        return;
    char *name = name_layer(other);
    char *warning =
        qmpi_message("conflicts with %-s%s%s%s", name,
                     conflict->preloaded ? ", if one of them is preloaded" : "",
                     conflict->reason ? ": " : "", conflict->reason ? conflict->reason : "");
    manifest_say(layer, warning,
                 conflict->preloaded
                     ? "give both layers the option @preload=no, or remove one of them"
                     : "remove one of the two layers");
    free(warning);
    free(name);
}

void manifest_warn_of_conflicts(const struct manifest_stack *stack)
{
    for (int one = 0; one < stack->count; one++) {
        for (int other = one + 1; other < stack->count; other++)
            warn_of_conflict(&stack->layers[one], &stack->layers[other]);
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* NULL: it is not given. */
static const char *find_value(const struct qmpi_entry *entry, const char *key)
{
    for (int i = 0; i < entry->option_count; i++) {
        if (!strcmp(entry->options[i].key, key))
            return entry->options[i].value;
    }
    return NULL;
}

/* Whether two layers of one tool write the same files. */
static bool is_shared(const struct manifest_layer *layer, const struct manifest_layer *other)
{
    const char *option = layer->manifest->output_option;
    const char *one = option ? find_value(layer->entry, option) : NULL;
    const char *two = option ? find_value(other->entry, option) : NULL;
    if (!one || !two)
        return !one && !two;
    /* Tools that were written for qmpi replace %t by the number of the layer. */
    return !strcmp(one, two) && (!strncmp(option, "env.", 4) || !strstr(one, "%t"));
}

static void warn_of_shared_file(const struct manifest_layer *layer,
                                const struct manifest_layer *other)
{
    const struct manifest *manifest = layer->manifest;
    char *name = name_layer(other);
    char *warning = qmpi_message(
        "writes the same files as %-s%s%s", name, manifest->output_files.count ? ": " : "",
        manifest->output_files.count ? manifest->output_files.items[0] : "");
    char *hint =
        manifest->output_option
            ? qmpi_message("give each layer of this tool a different %s%s", manifest->output_option,
                           strncmp(manifest->output_option, "env.", 4) ? ", or one with %t" : "")
            : qmpi_copy("use this tool only once in a stack");
    manifest_say(layer, warning, hint);
    free(hint);
    free(warning);
    free(name);
}

void manifest_warn_of_shared_files(const struct manifest_stack *stack)
{
    for (int one = 1; one < stack->count; one++) {
        const struct manifest_layer *layer = &stack->layers[one];
        for (int other = 0; layer->manifest && layer->manifest->output_shared && other < one;
             other++) {
            if (!strcmp(stack->layers[other].path, layer->path) &&
                is_shared(layer, &stack->layers[other])) {
                warn_of_shared_file(layer, &stack->layers[other]);
                break; /* one for each layer */
            }
        }
    }
}
