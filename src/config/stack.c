/* SPDX-License-Identifier: MIT */
/* See stack.h. */
#define _GNU_SOURCE
#include "config/stack.h"

#include "config/settings.h"
#include "util/util.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Limits. A stack may list more entries than a process can have layers, but nested stacks must not
 * make it arbitrarily long. */
enum { ENTRIES_MAX = 1000, DEPTH_MAX = 100 /* of stacks that contain others */ };

/* Whether a named stack adds any entry to a stack that uses it; CONTENT_ASKED: being found out. */
enum content { CONTENT_UNKNOWN, CONTENT_ASKED, CONTENT_NONE, CONTENT_SOME };

/* The place where a named stack is defined. */
struct place {
    const char *name;
    int file, section;
    int first, end; /* its tools: a range of the tools in the file */
    enum content content;
};

struct builder {
    struct qmpi_stack *stack;
    const struct qmpi_config_file *files;
    int file_count;
    struct place *places; /* sorted by name, and from the innermost file to the outermost */
    int place_count;
};

/* A named stack that is being replaced, and the entry that contains its name. */
struct use {
    const struct place *place;
    const struct qmpi_tool_entry *entry;
    const struct use *outer;
    int depth; /* 1: no other contains it */
};

/* ---- Named stacks ---------------------------------------------------------------------------- */

/* By name, and from the innermost file to the outermost. */
static int compare_places(const void *one, const void *other)
{
    const struct place *first = one, *second = other;
    const int order = strcmp(first->name, second->name);
    return order                         ? order
           : first->file != second->file ? second->file - first->file
                                         : first->section - second->section;
}

/* Adds the stacks of a file. The tools of a stack are adjacent, because its section starts only
 * once. */
static void add_places(struct builder *builder, int file)
{
    const struct qmpi_config *config = &builder->files[file].config;
    const int before = builder->place_count - QMPI_SECTION_STACKS;
    for (int k = QMPI_SECTION_STACKS; k < config->section_count; k++) {
        builder->places =
            qmpi_memory_grow(builder->places, builder->place_count, sizeof *builder->places);
        builder->places[builder->place_count++] =
            (struct place){.name = config->sections[k].name, .file = file, .section = k};
    }
    for (int i = 0; i < config->tools.count; i++) {
        if (config->tools.entries[i].section < QMPI_SECTION_STACKS)
            continue;
        struct place *place = &builder->places[before + config->tools.entries[i].section];
        place->first = place->end ? place->first : i;
        place->end = i + 1;
    }
}

static enum qmpi_tool_scope scope_of(const struct builder *builder, const struct place *place)
{
    return builder->files[place->file].scope;
}

static void find_places(struct builder *builder)
{
    for (int i = 0; i < builder->file_count; i++)
        add_places(builder, i);
    if (builder->place_count)
        qsort(builder->places, (size_t)builder->place_count, sizeof *builder->places,
              compare_places);
}

/*
 * Returns the place of the stack that `name` means in an entry of this scope; NULL: none. It is in
 * the innermost file that defines the stack. Only files of the site count for entries of the site,
 * because a user could otherwise replace a layer that the site requires, even by accident.
 */
static struct place *find_stack(const struct builder *builder, const char *name,
                                enum qmpi_tool_scope scope)
{
    int first = 0, end = builder->place_count;
    while (first < end) {
        const int middle = first + (end - first) / 2;
        if (strcmp(builder->places[middle].name, name) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    for (; first < builder->place_count && !strcmp(builder->places[first].name, name); first++) {
        if (scope != QMPI_SCOPE_SITE || scope_of(builder, &builder->places[first]) == scope)
            return &builder->places[first];
    }
    return NULL;
}

/*
 * Whether a named stack adds any entry. Each stack is searched once. Stacks that contain only
 * stacks without tools add none, however often they are used. A stack that contains itself, or is
 * nested too deep, adds an entry with a problem.
 */
static bool adds_any(const struct builder *builder, struct place *place, int depth)
{
    if (depth > DEPTH_MAX || place->content == CONTENT_ASKED)
        return true;
    if (place->content != CONTENT_UNKNOWN)
        return place->content == CONTENT_SOME;
    place->content = CONTENT_ASKED;
    const struct qmpi_tool_list *tools = &builder->files[place->file].config.tools;
    bool any = false;
    for (int i = place->first; i < place->end && !any; i++) {
        const struct qmpi_tool_entry *entry = &tools->entries[i];
        struct place *inner =
            entry->name ? find_stack(builder, entry->name, scope_of(builder, place)) : NULL;
        any = !inner || entry->option_count || adds_any(builder, inner, depth + 1);
    }
    place->content = any ? CONTENT_SOME : CONTENT_NONE;
    return any;
}

/* Returns the names of a cycle, as in "a → b → a". `use` is the innermost one, and one of those
 * that contain it uses `place`, too. */
static char *name_cycle(const struct use *use, const struct place *place)
{
    char *names = qmpi_copy(place->name);
    for (bool complete = false; !complete; use = use->outer) {
        char *longer = qmpi_format("%s → %s", use->place->name, names);
        free(names);
        names = longer;
        complete = use->place == place;
    }
    return names;
}

/* Returns why the stack that `entry` names cannot be used here; NULL: it can. */
static char *check_stack(const struct qmpi_tool_entry *entry, const struct place *place,
                         const struct use *outer)
{
    const struct use *same = outer;
    while (same && same->place != place)
        same = same->outer;
    if (!same && outer && outer->depth == DEPTH_MAX)
        return qmpi_message("stacks contain each other more than %d deep\n"
                            "hint: list the tools themselves in the stacks that use '%s'",
                            DEPTH_MAX, entry->name);
    if (same) {
        char *cycle = name_cycle(outer, place);
        char *problem = qmpi_message("a stack contains itself: %s\n"
                                     "hint: remove one of these names from the stack that uses it",
                                     cycle);
        free(cycle);
        return problem;
    }
    if (entry->option_count)
        return qmpi_message("'%s' is a stack of tools, and takes no option '%s'\n"
                            "hint: give the option to a tool in the stack; a stack takes only "
                            "options that start with @",
                            entry->name, entry->options[0].key);
    return NULL;
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* Returns why an entry cannot be used here, apart from its own problem; NULL: it can. `place` is
 * that of the stack that it names, or NULL. A stack of the site may contain @required also for
 * users: their layers are not required. */
static char *check_use(const struct qmpi_tool_entry *entry, const struct place *place,
                       const struct use *outer)
{
    if (!entry->problem && entry->reserved[QMPI_RESERVED_REQUIRED] &&
        entry->scope != QMPI_SCOPE_SITE)
        return qmpi_copy("only configuration files of the site can set '@required'\n"
                         "hint: remove this option");
    return place ? check_stack(entry, place, outer) : NULL;
}

/* Adds an option of a named stack to one of its layers. Conditions of both are combined; any other
 * option of the layer itself takes precedence. */
static void inherit_option(struct qmpi_tool_entry *entry, enum qmpi_tool_reserved option,
                           const char *value)
{
    if (value && (!entry->reserved[option] || qmpi_tool_reserved_is_condition(option)))
        qmpi_tool_entry_add_reserved(entry, option, value);
}

static void add_stack_entry(struct builder *builder, const struct qmpi_tool_entry *entry,
                            const struct use *use)
{
    struct qmpi_tool_entry *added = qmpi_tool_list_add_copy(&builder->stack->tools, entry);
    for (; use; use = use->outer) {
        const struct qmpi_tool_entry *outer = use->entry;
        added->stack = added->stack ? added->stack : use->place->name;
        added->scope = outer->scope;
        if (added->on_error == QMPI_ON_ERROR_AS_SET)
            added->on_error = outer->on_error;
        for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++)
            inherit_option(added, (enum qmpi_tool_reserved)i, outer->reserved[i]);
    }
}

static void add_entry_or_stack(struct builder *builder, const struct qmpi_tool_entry *entry,
                               const struct use *outer);

static void add_section(struct builder *builder, const struct qmpi_config_file *file, int section,
                        const struct use *use)
{
    for (int i = 0; i < file->config.tools.count; i++) {
        struct qmpi_tool_entry entry = file->config.tools.entries[i];
        if (entry.section != section)
            continue;
        entry.source = file->path;
        entry.scope = file->scope;
        if (section == QMPI_SECTION_TOP || section == QMPI_SECTION_BOTTOM)
            entry.part = file->config.sections[section].name;
        else if (section >= QMPI_SECTION_STACKS)
            entry.stack_line = file->config.sections[section].line;
        entry.on_error = qmpi_settings_on_error_in(file, section);
        if (file->scope == QMPI_SCOPE_SITE)
            entry.tool_path = file->config.settings[QMPI_SETTING_TOOL_PATH];
        add_entry_or_stack(builder, &entry, use);
    }
}

static void add_entry_or_stack(struct builder *builder, const struct qmpi_tool_entry *entry,
                               const struct use *outer)
{
    /* Once the stack has too many entries, names are no longer looked up. */
    const bool counts = builder->stack->tools.count <= ENTRIES_MAX;
    struct place *place = entry->name && !entry->problem && counts
                              ? find_stack(builder, entry->name, entry->scope)
                              : NULL;
    char *problem = check_use(entry, place, outer);
    if (problem) {
        struct qmpi_tool_entry wrong = *entry;
        wrong.name = NULL;
        wrong.problem = problem;
        add_stack_entry(builder, &wrong, outer);
        free(problem);
    } else if (place) {
        const struct use use = {place, entry, outer, outer ? outer->depth + 1 : 1};
        if (adds_any(builder, place, use.depth))
            add_section(builder, &builder->files[place->file], place->section, &use);
    } else {
        add_stack_entry(builder, entry, outer);
    }
}

/* ---- The parts of the stack ------------------------------------------------------------------ */

/* Whether the configuration files count. A trial of single tools (cli/trial.c) uses only the tools
 * in QMPI_TOOLS. */
static bool uses_files(void)
{
    const char *trial = qmpi_getenv("QMPI_TRIAL");
    return !trial || strcmp(trial, "alone") != 0;
}

/* Whether the layers that the files list are part of the stack. `qmpi vars` is no job: layers that
 * write when MPI is initialized would replace the results of jobs, or record it as one. */
static bool uses_layers_of_files(void)
{
    return !qmpi_getenv("QMPI_VARS");
}

static void add_sections(struct builder *builder, int section, bool outermost_first)
{
    for (int i = 0; i < builder->file_count && uses_layers_of_files(); i++) {
        const int file = outermost_first ? i : builder->file_count - 1 - i;
        add_section(builder, &builder->files[file], section, NULL);
    }
}

static void append_note(struct qmpi_stack *stack, char *line)
{
    char *longer = qmpi_format("%s%s\n", stack->notes, line);
    free(stack->notes);
    free(line);
    stack->notes = longer;
}

static bool has_middle(const struct qmpi_config_file *file)
{
    for (int i = 0; i < file->config.tools.count; i++) {
        if (file->config.tools.entries[i].section == QMPI_SECTION_MIDDLE)
            return true;
    }
    return false;
}

/* Returns how messages name the variable: `-t` if `qmpi run -t` has set QMPI_TOOLS to its present
 * value, otherwise its own name. */
static const char *name_of_variable(const char *variable)
{
    const char *value = secure_getenv(variable), *option = secure_getenv("QMPI_TOOLS_OPTION");
    return variable == qmpi_start_variables[0] && option && !strcmp(option, value) ? "-t"
                                                                                   : variable;
}

static void note_replaced(struct builder *builder)
{
    for (int i = 0; i < builder->file_count; i++) {
        if (has_middle(&builder->files[i]))
            append_note(builder->stack,
                        qmpi_message("%s replaces the tools that stand outside a section in %s",
                                     builder->stack->source, builder->files[i].path));
    }
}

static void add_variable_tools(struct builder *builder)
{
    struct qmpi_tool_list list;
    qmpi_tool_list_parse(qmpi_getenv(builder->stack->variable), &list);
    for (int i = 0; i < list.count; i++) {
        list.entries[i].source = builder->stack->source;
        add_entry_or_stack(builder, &list.entries[i], NULL);
    }
    qmpi_tool_list_free(&list);
}

/* Adds the layer of `qmpi vars` that lists the variables: the command needs it whatever
 * QMPI_DISABLE is. The variable QMPI_VARS, which this command sets, contains the layer. */
static void add_listing_layer(struct builder *builder)
{
    struct qmpi_tool_list list;
    qmpi_tool_list_parse(qmpi_getenv("QMPI_VARS"), &list);
    for (int i = 0; i < list.count; i++) {
        list.entries[i].source = "qmpi vars";
        list.entries[i].scope = QMPI_SCOPE_COMMAND;
        add_stack_entry(builder, &list.entries[i], NULL);
    }
    qmpi_tool_list_free(&list);
}

static void find_middle(struct builder *builder)
{
    struct qmpi_stack *stack = builder->stack;
    stack->source = qmpi_start_variables[0];
    /* An empty variable means an empty middle part, but qmpi_getenv would treat it as not set. */
    for (int i = 0; i < QMPI_START_VARIABLES && !stack->variable; i++) {
        if (secure_getenv(qmpi_start_variables[i]))
            stack->variable = qmpi_start_variables[i];
    }
    if (stack->variable)
        stack->source = name_of_variable(stack->variable);
    for (int i = 0; i < builder->file_count && !stack->variable; i++) {
        if (has_middle(&builder->files[i]) || builder->files[i].scope == QMPI_SCOPE_LISTED)
            stack->source = builder->files[i].path;
    }
}

static void add_middle(struct builder *builder)
{
    find_middle(builder);
    add_listing_layer(builder);
    if (builder->stack->variable) {
        if (uses_layers_of_files())
            note_replaced(builder);
        add_variable_tools(builder);
        return;
    }
    add_sections(builder, QMPI_SECTION_MIDDLE, true);
}

/* ---- Entries that are left out --------------------------------------------------------------- */

static bool matches_pattern(const char *pattern, const char *text)
{
    return text && fnmatch(pattern, text, 0) == 0;
}

/* Whether the name of a tool matches, without `lib` and `.so…`. They are removed from the pattern
 * only if it is the name of a file: in `lib*`, they could be part of a tool's name. */
static bool matches_tool_name(const char *pattern, const char *path)
{
    const bool is_file = strstr(pattern, ".so") && !strpbrk(pattern, "/*?[\\");
    size_t length, pattern_length = strlen(pattern);
    const char *start = qmpi_text_tool_name(path, &length);
    if (is_file)
        pattern = qmpi_text_tool_name(pattern, &pattern_length);
    char *name = qmpi_copy_part(start, length), *shorter = qmpi_copy_part(pattern, pattern_length);
    const bool matches = matches_pattern(shorter, name);
    free(name);
    free(shorter);
    return matches;
}

bool qmpi_stack_pattern_means(const char *pattern, const struct qmpi_tool_entry *entry)
{
    const bool site = entry->scope == QMPI_SCOPE_SITE;
    if (!strcmp(pattern, "~site~"))
        return site;
    if (!strcmp(pattern, "~user~"))
        return !site;
    return matches_pattern(pattern, entry->name ? entry->name : entry->text) ||
           (entry->name && (matches_pattern(pattern, qmpi_text_base_name(entry->name)) ||
                            matches_tool_name(pattern, entry->name))) ||
           matches_pattern(pattern, entry->stack);
}

static bool is_disable_given(void)
{
    return qmpi_getenv("QMPI_DISABLE") != NULL;
}

/* Returns the next pattern of QMPI_DISABLE, which the caller frees, and moves `*list` behind it.
 * NULL: there is none. */
static char *next_pattern(const char **list)
{
    *list += strspn(*list, ":");
    const size_t length = strcspn(*list, ":");
    char *pattern = length ? qmpi_copy_part(*list, length) : NULL;
    *list += length;
    return pattern;
}

static bool is_disabled(const struct qmpi_tool_entry *entry)
{
    const char *list = qmpi_getenv("QMPI_DISABLE");
    bool found = false;
    for (char *pattern; list && !found && (pattern = next_pattern(&list));) {
        found = qmpi_stack_pattern_means(pattern, entry);
        free(pattern);
    }
    return found;
}

static bool is_any_meant_by(const char *pattern, const struct qmpi_tool_list *tools)
{
    for (int i = 0; i < tools->count; i++) {
        if (qmpi_stack_pattern_means(pattern, &tools->entries[i]))
            return true;
    }
    return false;
}

static bool is_required(const struct qmpi_tool_entry *entry)
{
    const char *value = entry->reserved[QMPI_RESERVED_REQUIRED];
    return entry->scope == QMPI_SCOPE_SITE && value && !strcmp(value, "yes");
}

static void leave_out_disabled(struct qmpi_stack *stack)
{
    if (!is_disable_given())
        return;
    struct qmpi_tool_list all = stack->tools;
    stack->tools = (struct qmpi_tool_list){NULL, 0};
    for (int i = 0; i < all.count; i++) {
        const struct qmpi_tool_entry *entry = &all.entries[i];
        const bool disabled = entry->scope != QMPI_SCOPE_COMMAND && is_disabled(entry);
        const bool required = is_required(entry);
        if (disabled && required)
            append_note(stack,
                        qmpi_message("QMPI_DISABLE does not leave out '%s': the site requires it "
                                     "(%s, line %d)",
                                     entry->name ? entry->name : entry->text, entry->source,
                                     entry->line));
        qmpi_tool_list_move(disabled && !required ? &stack->disabled : &stack->tools, entry);
    }
    free(all.entries);
}

/* ---- Variables that the program has removed -------------------------------------------------- */

static void note_lost(struct qmpi_stack *stack)
{
    const char *name;
    bool reports;
    if (!qmpi_start_lost_stack(&name, &reports) || !reports)
        return;
    append_note(
        stack,
        qmpi_message("%s was set when this process was started, but the program has removed it "
                     "from its environment: it has no effect",
                     name));
    append_note(
        stack,
        qmpi_message("  hint: keep the variables of qmpi in the environment until the first MPI "
                     "call"));
}

/* ---- The whole stack ------------------------------------------------------------------------- */

void qmpi_stack_read(struct qmpi_stack *stack)
{
    struct builder builder = {.stack = stack};
    *stack = (struct qmpi_stack){.notes = qmpi_copy("")};
    builder.files = qmpi_config_files(&builder.file_count);
    if (!uses_files())
        builder.file_count = 0;
    find_places(&builder);
    add_sections(&builder, QMPI_SECTION_TOP, true);
    add_middle(&builder);
    add_sections(&builder, QMPI_SECTION_BOTTOM, false);
    leave_out_disabled(stack);
    note_lost(stack);
    free(builder.places);
}

void qmpi_stack_free(struct qmpi_stack *stack)
{
    qmpi_tool_list_free(&stack->tools);
    qmpi_tool_list_free(&stack->disabled);
    free(stack->notes);
    stack->notes = NULL;
}

void qmpi_stack_each_name(void (*each)(void *data, const char *name, const char *path, int line),
                          void *data)
{
    struct builder builder = {.stack = NULL};
    builder.files = qmpi_config_files(&builder.file_count);
    find_places(&builder);
    for (int i = 0; i < builder.file_count; i++) {
        const struct qmpi_config *config = &builder.files[i].config;
        for (int k = QMPI_SECTION_STACKS; k < config->section_count; k++) {
            if (find_stack(&builder, config->sections[k].name, QMPI_SCOPE_VARIABLE)->file == i)
                each(data, config->sections[k].name, builder.files[i].path,
                     config->sections[k].line);
        }
    }
    free(builder.places);
}

void qmpi_stack_each_idle_pattern(const struct qmpi_stack *stack,
                                  void (*each)(void *data, const char *pattern), void *data)
{
    const char *list = qmpi_getenv("QMPI_DISABLE");
    for (char *pattern; list && (pattern = next_pattern(&list));) {
        if (!is_any_meant_by(pattern, &stack->tools) && !is_any_meant_by(pattern, &stack->disabled))
            each(data, pattern);
        free(pattern);
    }
}
