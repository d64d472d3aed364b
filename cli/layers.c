/* SPDX-License-Identifier: MIT */
/* See layers.h. */
#define _GNU_SOURCE
#include "cli/layers.h"

#include "elf/elf.h"
#include "generate/build.h"
#include "loader/loader.h"
#include "process/process.h"
#include "util/util.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Start-up refuses a stack with more layers (startup/startup.c). */
enum { LAYERS_MAX = 255 };

/* Returns the directories of manifests, which are those of the site and of the installed tools. */
static const char *const *manifest_folders(void)
{
    static const char *folders[3];
    if (!folders[0]) {
        char *site = qmpi_config_site_folder();
        folders[0] = qmpi_format("%s/manifests", site);
        folders[1] = qmpi_format("%s/manifests", cli_tools_folder());
        free(site);
    }
    return folders;
}

struct manifest *layers_find_manifest(const char *path, char **problem)
{
    char *wrong = NULL;
    struct manifest *manifest = manifest_find(path, manifest_folders(), &wrong);
    if (problem)
        *problem = wrong;
    else
        free(wrong);
    return manifest;
}

static void report_manifest(char *problem)
{
    char *hint = problem ? strstr(problem, "\nhint: ") : NULL;
    if (hint && qmpi_launcher_reports()) {
        *hint = '\0';
        qmpi_printf("%-s\n  %-s\n  this manifest is not used", problem, hint + 1);
    }
    free(problem);
}

static bool add_layer(struct layers *layers, const struct qmpi_tool_entry *entry)
{
    struct layer *layer = &layers->all[layers->count];
    char *problem = NULL;
    *layer = (struct layer){.entry = entry, .is_first = true};
    if (entry->problem)
        return false;
    layer->found = qmpi_library_find(entry, layers->build->tools_folder, "", &problem);
    layer->path = layer->found ? realpath(layer->found, NULL) : NULL;
    free(problem); /* Start-up reports the problem. */
    if (!layer->path) {
        free(layer->found);
        return false;
    }
    for (int i = 0; i < layers->count && layer->is_first; i++) {
        if (!strcmp(layers->all[i].path, layer->path)) {
            layer->is_first = false;
            layer->manifest = layers->all[i].manifest;
        }
    }
    if (layer->is_first) {
        layer->manifest = layers_find_manifest(layer->found, &problem);
        report_manifest(problem);
    }
    layer->name =
        layer->manifest ? qmpi_copy(layer->manifest->name) : manifest_tool_name(layer->found);
    return true;
}

struct layers layers_read(const struct cli_build *build)
{
    struct layers layers = {.build = build};
    qmpi_stack_read(&layers.stack);
    const struct qmpi_tool_list *list = &layers.stack.tools;
    layers.all = qmpi_allocate(LAYERS_MAX, sizeof *layers.all);
    for (int i = 0; i < list->count && i < LAYERS_MAX; i++)
        layers.count += add_layer(&layers, &list->entries[i]);
    return layers;
}

void layers_free(struct layers *layers)
{
    for (int i = 0; i < layers->count + layers->left_out; i++) {
        if (layers->all[i].is_first)
            manifest_free(layers->all[i].manifest);
        free(layers->all[i].name);
        free(layers->all[i].path);
        free(layers->all[i].found);
    }
    free(layers->all);
    qmpi_stack_free(&layers->stack);
}

/* Returns whether one of the names of a layer matches a pattern. */
static bool layer_matches(const struct layer *layer, const char *pattern)
{
    return !fnmatch(pattern, layer->name, 0) || !fnmatch(pattern, layer->entry->name, 0) ||
           !fnmatch(pattern, qmpi_text_base_name(layer->found), 0);
}

/* ---- Layers that are on some ranks only ------------------------------------------------------ */

/* Returns whether the user wants the layer although something excludes it. */
static bool layer_is_forced(const struct layer *layer)
{
    const char *value = layer->entry->reserved[QMPI_RESERVED_FORCE];
    return value && !strcmp(value, "yes");
}

/* Returns whether an entry has an option of the form KEY=VALUE. */
static bool has_option(const struct qmpi_tool_entry *entry, const char *option)
{
    const size_t length = strcspn(option, "=");
    for (int i = 0; i < entry->option_count; i++) {
        const struct qmpi_tool_option *given = &entry->options[i];
        if (strlen(given->key) == length && !strncmp(given->key, option, length) &&
            !strcmp(given->value, option + length + 1))
            return true;
    }
    return false;
}

/* Returns the option that makes the tool communicate, an empty text if it always does, or NULL if
 * it does not. */
static const char *find_communication(const struct layer *layer)
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

/* Moves a layer behind those that remain. If it is the first one of its library, the next one
 * becomes the first. */
static void move_behind(struct layers *layers, int index)
{
    struct layer layer = layers->all[index];
    layers->count--;
    layers->left_out++;
    memmove(&layers->all[index], &layers->all[index + 1],
            (size_t)(layers->count - index) * sizeof layer);
    for (int i = index; i < layers->count && layer.is_first; i++) {
        if (!strcmp(layers->all[i].path, layer.path)) {
            layers->all[i].is_first = true;
            layer.is_first = false;
        }
    }
    layers->all[layers->count] = layer;
}

/* Leaves the layer *index out, with all others that QMPI_DISABLE then matches, because this
 * variable contains patterns of names. Returns their number, and sets *index to the index of the
 * layer before. */
static int leave_out(struct layers *layers, int *index)
{
    const char *name = layers->all[*index].entry->name;
    const char *before = qmpi_getenv("QMPI_DISABLE");
    char *pattern = cli_escape(name, "*?[\\");
    char *list = before ? qmpi_format("%s:%s", before, pattern) : qmpi_copy(pattern);
    int count = 0;
    cli_set_variable("QMPI_DISABLE", list);
    free(list);
    for (int i = layers->count - 1; i >= 0; i--) {
        const struct qmpi_tool_entry *entry = layers->all[i].entry;
        if (!strcmp(entry->name, name) || qmpi_stack_pattern_means(pattern, entry)) {
            move_behind(layers, i);
            *index -= i <= *index;
            count++;
        }
    }
    free(pattern);
    return count;
}

/* Returns why the layer is refused, or NULL if it is not. Sets *with to the option that makes its
 * tool communicate, or to an empty text. */
static const char *find_refused_condition(const struct layer *layer, const char **with)
{
    const char *condition = layer->manifest && !layer_is_forced(layer)
                                ? qmpi_condition_that_varies(layer->entry)
                                : NULL;
    *with = condition ? find_communication(layer) : NULL;
    return *with ? condition : NULL;
}

void layers_check_conditions(struct layers *layers)
{
    bool stops = false;
    for (int i = 0; i < layers->count; i++) {
        const char *with, *condition = find_refused_condition(&layers->all[i], &with);
        if (!condition)
            continue;
        const struct qmpi_tool_entry *entry = layers->all[i].entry;
        const char *path = layers->all[i].manifest->path;
        const bool skips = qmpi_settings_skip_errors(entry->on_error);
        const int count = skips ? leave_out(layers, &i) : 0;
        char *where = qmpi_problem_where(entry);
        if (qmpi_launcher_reports())
            qmpi_printf(
                "%-s: the wrappers of this tool communicate%s%s, so it must be on all ranks, "
                "without %s\n  hint: remove this option; if you know that it works, add the option "
                "@force=yes "
                "(manifest: %s)%-s",
                where, *with ? " with " : "", with, condition, path,
                count > 1 ? "\n  the run continues without the layers of this name"
                : skips   ? "\n  the run continues without this layer"
                          : "");
        free(where);
        stops |= !skips;
    }
    if (stops)
        exit(2);
}

/* qmpi doctor recognizes a warning by "(manifest: ". */
static void print_warning(const struct layer *layer, const char *warning, const char *hint)
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

/* ---- Needs of a layer ------------------------------------------------------------------------ */

static bool is_there(const struct layers *layers, const struct layer *layer, const char *pattern)
{
    for (int i = 0; i < layers->count; i++) {
        if (&layers->all[i] != layer && layer_matches(&layers->all[i], pattern))
            return true;
    }
    return false;
}

static bool is_set(const struct qmpi_tool_entry *entry, const char *variable)
{
    for (int i = 0; i < entry->option_count; i++) {
        if (!strncmp(entry->options[i].key, "env.", 4) &&
            !strcmp(entry->options[i].key + 4, variable))
            return true;
    }
    return getenv(variable) != NULL;
}

static void warn_of_needs(const struct layers *layers, const struct layer *layer)
{
    const struct manifest *manifest = layer->manifest;
    for (int i = 0; i < manifest->needed_tools.count; i++) {
        const char *pattern = manifest->needed_tools.items[i];
        if (is_there(layers, layer, pattern))
            continue;
        char *warning = qmpi_message("needs the tool '%s', which is not in the stack", pattern);
        char *hint = qmpi_message("add '%s' to the stack", pattern);
        print_warning(layer, warning, hint);
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
        print_warning(layer, warning, hint);
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

/* Returns whether start-up refuses the library. In this case, start-up also reports the reason. */
static bool is_refused(const struct layers *layers, const struct layer *layer)
{
    enum qmpi_library_kind kind;
    const bool is_default = !strcmp(layers->build->mpi, QMPI_MPI);
    char *problem = qmpi_library_inspect(layer->path, is_default ? QMPI_MPI_SONAME : NULL, &kind);
    const bool refused = problem != NULL;
    free(problem);
    return refused;
}

static void warn_of_mpi(const struct layers *layers, const struct layer *layer)
{
    if (is_built_for(layer->manifest, layers->build->mpi) || is_refused(layers, layer))
        return;
    char *names = list_names(&layer->manifest->mpi);
    char *warning = qmpi_message("built for %-s, but this run uses %s", names, layers->build->mpi);
    char *hint = qmpi_message("use a build of this tool for %s", layers->build->mpi);
    print_warning(layer, warning, hint);
    free(hint);
    free(warning);
    free(names);
}

/* ---- Preloading ------------------------------------------------------------------------------ */

/* Returns whether start-up reports that the library replaces functions (pmpi/load.c). It does so if
 * the symbols of the library show this. */
static bool is_reported_at_startup(const struct layer *layer)
{
    struct qmpi_elf_file file;
    if (qmpi_elf_file_open(layer->path, &file))
        return true;
    char *names = qmpi_loadable_interposed(&file.image);
    const bool shows = names != NULL;
    free(names);
    qmpi_elf_file_close(&file);
    return shows;
}

static void warn_of_preloading(const struct layer *layer)
{
    const char *wish = layer->entry->reserved[QMPI_RESERVED_PRELOAD];
    if (!layer->manifest->replaces.count || layer->is_first || layer->is_preloaded ||
        (wish && !strcmp(wish, "no")) || is_reported_at_startup(layer))
        return;
    char *names = list_names(&layer->manifest->replaces), *shown = qmpi_message_shorten(names);
    char *warning = qmpi_message("also replaces functions outside MPI (%s), but does not see the "
                                 "program's calls of them: only the first layer of a library is "
                                 "preloaded",
                                 shown);
    print_warning(layer, warning,
                  "remove this layer, or give it the option @preload=no if MPI calls suffice");
    free(warning);
    free(shown);
    free(names);
}

/* ---- Pairs of layers ------------------------------------------------------------------------- */

/* Returns the name of another layer for a warning. The caller frees the name. */
static char *name_layer(const struct layer *layer)
{
    return qmpi_message("%s (%s %d)", layer->name, layer->entry->line ? "line" : "entry",
                        layer->entry->line ? layer->entry->line : layer->entry->position);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static enum manifest_place wanted_place_of(const struct layer *layer)
{
    return layer->manifest ? layer->manifest->place : MANIFEST_ANYWHERE;
}

/* Returns whether both layers are in the same list, where the user can exchange them. */
static bool is_in_list_of(const struct layer *layer, const struct layer *other)
{
    const char *one = layer->entry->part, *two = other->entry->part;
    return layer->entry->scope == other->entry->scope &&
           (one && two ? !strcmp(one, two) : one == two);
}

/* Returns the layers of the list that contains `layer`, in an order that agrees with the places in
 * all manifests. The caller frees the text. */
static char *find_order(const struct layers *layers, const struct layer *layer)
{
    static const enum manifest_place order[] = {MANIFEST_APPLICATION, MANIFEST_ANYWHERE,
                                                MANIFEST_MPI};
    char *names = qmpi_copy("");
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        for (int i = 0; i < layers->count; i++) {
            const struct qmpi_tool_entry *entry = layers->all[i].entry;
            if (wanted_place_of(&layers->all[i]) != order[k] ||
                !is_in_list_of(layer, &layers->all[i]))
                continue;
            char *longer = qmpi_message("%-s%s%s", names, *names ? ":" : "",
                                        entry->line ? entry->name : entry->text);
            free(names);
            names = longer;
        }
    }
    return names;
}

static char *advise_order(const struct layers *layers, const struct layer *layer,
                          const struct layer *wrong)
{
    const bool one_list = is_in_list_of(layer, wrong);
    char *what = one_list ? find_order(layers, layer) : qmpi_tool_entry_source(wrong->entry);
    char *hint = one_list
                     ? qmpi_message("the right order is %-s", what)
                     : qmpi_message("change where one of the two is listed; %s is listed in %s",
                                    wrong->name, what);
    free(what);
    return hint;
}

/* If a layer belongs near the application, returns the nearest layer above it that does not belong
 * there. If a layer belongs near MPI, returns the nearest layer below it that does not belong
 * there. Otherwise, returns NULL. */
static const struct layer *find_wrong(const struct layers *layers, int index)
{
    const enum manifest_place place = wanted_place_of(&layers->all[index]);
    const int step = place == MANIFEST_APPLICATION ? -1 : place == MANIFEST_MPI ? 1 : 0;
    for (int i = index + step; step && i >= 0 && i < layers->count; i += step) {
        if (wanted_place_of(&layers->all[i]) != place)
            return &layers->all[i];
    }
    return NULL;
}

static void warn_of_places(const struct layers *layers)
{
    for (int i = 0; i < layers->count; i++) {
        const struct layer *layer = &layers->all[i], *wrong = find_wrong(layers, i);
        if (!wrong)
            continue;
        const bool top = wanted_place_of(layer) == MANIFEST_APPLICATION;
        const char *reason = layer->manifest->place_reason;
        char *other = name_layer(wrong), *hint = advise_order(layers, layer, wrong);
        char *warning =
            qmpi_message("belongs near %s, %s %-s%s%s", top ? "the application" : "MPI",
                         top ? "above" : "below", other, reason ? ": " : "", reason ? reason : "");
        print_warning(layer, warning, hint);
        free(hint);
        free(warning);
        free(other);
    }
}

/* ---- Conflicts ------------------------------------------------------------------------------- */

static const struct manifest_conflict *find_conflict(const struct layer *layer,
                                                     const struct layer *other)
{
    const enum manifest_position position = other < layer ? MANIFEST_UPPER : MANIFEST_LOWER;
    const struct manifest *manifest = layer->manifest;
    const bool preloaded = layer->is_preloaded || other->is_preloaded;
    for (int i = 0; manifest && i < manifest->conflict_count; i++) {
        const struct manifest_conflict *conflict = &manifest->conflicts[i];
        if ((preloaded || !conflict->preloaded) &&
            (!conflict->position || conflict->position == position) &&
            layer_matches(other, conflict->tool))
            return conflict;
    }
    return NULL;
}

static void warn_of_conflict(const struct layer *layer, const struct layer *other)
{
    const struct manifest_conflict *conflict = find_conflict(layer, other);
    if (!conflict) { /* The other manifest may state the conflict. */
        const struct layer *first = layer;
        layer = other;
        other = first;
        conflict = find_conflict(layer, other);
    }
    if (!conflict || layer_is_forced(layer) || layer_is_forced(other))
        return;
    char *name = name_layer(other);
    char *warning =
        qmpi_message("conflicts with %-s%s%s%s", name,
                     conflict->preloaded ? ", if one of them is preloaded" : "",
                     conflict->reason ? ": " : "", conflict->reason ? conflict->reason : "");
    print_warning(layer, warning,
                  conflict->preloaded
                      ? "give both layers the option @preload=no, or remove one of them"
                  : conflict->position ? "list the two layers in the opposite order, or remove one"
                                       : "remove one of the two layers");
    free(warning);
    free(name);
}

static void warn_of_conflicts(const struct layers *layers)
{
    for (int one = 0; one < layers->count; one++) {
        for (int other = one + 1; other < layers->count; other++)
            warn_of_conflict(&layers->all[one], &layers->all[other]);
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Returns the value of an option, or NULL if it is not given. */
static const char *find_value(const struct qmpi_tool_entry *entry, const char *key)
{
    for (int i = 0; i < entry->option_count; i++) {
        if (!strcmp(entry->options[i].key, key))
            return entry->options[i].value;
    }
    return NULL;
}

/* Returns whether two layers of one tool write the same files. */
static bool is_shared(const struct layer *layer, const struct layer *other)
{
    const char *option = layer->manifest->output_option;
    const char *one = option ? find_value(layer->entry, option) : NULL;
    const char *two = option ? find_value(other->entry, option) : NULL;
    if (!one || !two)
        return !one && !two;
    /* Tools that were written for qmpi replace %t by the number of the layer. */
    return !strcmp(one, two) && (!strncmp(option, "env.", 4) || !strstr(one, "%t"));
}

static void warn_of_shared_file(const struct layer *layer, const struct layer *other)
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
    print_warning(layer, warning, hint);
    free(hint);
    free(warning);
    free(name);
}

static void warn_of_shared_files(const struct layers *layers)
{
    for (int one = 1; one < layers->count; one++) {
        const struct layer *layer = &layers->all[one];
        for (int other = 0; layer->manifest && layer->manifest->output_shared && other < one;
             other++) {
            if (!strcmp(layers->all[other].path, layer->path) &&
                is_shared(layer, &layers->all[other])) {
                warn_of_shared_file(layer, &layers->all[other]);
                break; /* One warning for each layer is enough. */
            }
        }
    }
}

/* ---- All rules ------------------------------------------------------------------------------- */

void layers_warn(const struct layers *layers)
{
    if (!qmpi_launcher_reports())
        return;
    warn_of_places(layers);
    warn_of_conflicts(layers);
    warn_of_shared_files(layers);
    for (int i = 0; i < layers->count; i++) {
        const struct layer *layer = &layers->all[i];
        if (!layer->manifest)
            continue;
        warn_of_needs(layers, layer);
        warn_of_mpi(layers, layer);
        warn_of_preloading(layer);
    }
}
