/* SPDX-License-Identifier: MIT */
/* See stack.h. */
#define _GNU_SOURCE
#include "config/stack.h"

#include "config/disable.h"
#include "config/files.h"
#include "config/settings.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* The variables of the middle, in the order in which they are looked at: of MPICH's own two the
 * first one wins there. An empty one is a middle without layers. */
static const char *const variables[] = {"QMPI_TOOLS", "MPIR_CVAR_QMPI_TOOL_LIST",
                                        "MPICH_QMPI_TOOL_LIST"};

/* More entries than a stack can have layers: stacks that contain others would become very long. */
enum { ENTRIES_MAX = 1000 };

struct builder {
    struct qmpi_tool_stack *stack;
    const struct qmpi_config_file *files;
    int file_count;
};

/* A named stack that is being replaced, and the entry that contains its name. */
struct use {
    const char *name;
    const struct qmpi_entry *entry;
    const struct use *outer;
};

/* ---- Named stacks ---------------------------------------------------------------------------- */

/* The innermost file that defines it; NULL: none does. */
static const struct qmpi_config_file *find_stack(const struct builder *builder, const char *name,
                                                 int *section)
{
    for (int i = builder->file_count - 1; i >= 0; i--) {
        const struct qmpi_config *config = &builder->files[i].config;
        for (int k = QMPI_SECTION_STACKS; k < config->section_count; k++) {
            if (!strcmp(config->sections[k].name, name)) {
                *section = k;
                return &builder->files[i];
            }
        }
    }
    return NULL;
}

/* "a → b → a" */
static char *name_cycle(const struct use *use, const char *name)
{
    char *names = qmpi_copy(name);
    for (bool first = true; use && (first || strcmp(use->name, name) != 0); use = use->outer) {
        char *longer = qmpi_format("%s → %s", use->name, names);
        free(names);
        names = longer;
        first = false;
    }
    if (use) {
        char *longer = qmpi_format("%s → %s", name, names);
        free(names);
        names = longer;
    }
    return names;
}

/* NULL: the stack that `entry` names can stand here. */
static char *check_use(const struct qmpi_entry *entry, const struct use *outer)
{
    const struct use *same = outer;
    while (same && strcmp(same->name, entry->name) != 0)
        same = same->outer;
    if (same) {
        char *cycle = name_cycle(outer, entry->name);
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

static void spoil(struct qmpi_entry *entry, char *problem)
{
    free(entry->name);
    entry->name = NULL;
    entry->problem = problem;
}

/* A condition must hold in addition to the layer's own; of other options, the layer's own count. */
static void inherit(struct qmpi_entry *entry, enum qmpi_reserved_option option, const char *value)
{
    if (value && (!entry->reserved[option] || qmpi_reserved_option_is_condition(option)))
        qmpi_entry_add_reserved(entry, option, value);
}

static void add_entry(struct builder *builder, const struct qmpi_entry *entry,
                      const struct use *use)
{
    struct qmpi_entry *added = qmpi_tool_list_add_copy(&builder->stack->layers, entry);
    for (; use; use = use->outer) {
        const struct qmpi_entry *outer = use->entry;
        added->stack = added->stack ? added->stack : use->name;
        added->scope = outer->scope;
        if (added->on_error == QMPI_ON_ERROR_AS_SET)
            added->on_error = outer->on_error;
        for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++)
            inherit(added, (enum qmpi_reserved_option)i, outer->reserved[i]);
    }
    if (!added->problem && added->reserved[QMPI_RESERVED_REQUIRED] &&
        added->scope != QMPI_SCOPE_SITE)
        spoil(added, qmpi_copy("only configuration files of the site can set '@required'\n"
                               "hint: remove this option"));
}

static void add(struct builder *builder, const struct qmpi_entry *entry, const struct use *outer);

static void add_section(struct builder *builder, const struct qmpi_config_file *file, int section,
                        const struct use *use)
{
    for (int i = 0; i < file->config.tools.count; i++) {
        struct qmpi_entry entry = file->config.tools.entries[i];
        if (entry.section != section)
            continue;
        entry.source = file->path;
        entry.scope = file->scope;
        if (section == QMPI_SECTION_TOP || section == QMPI_SECTION_BOTTOM)
            entry.part = file->config.sections[section].name;
        else if (section >= QMPI_SECTION_STACKS)
            entry.stack_line = file->config.sections[section].line;
        entry.on_error = qmpi_on_error_in(file, section);
        if (file->scope == QMPI_SCOPE_SITE)
            entry.tool_path = file->config.settings[QMPI_SETTING_TOOL_PATH];
        add(builder, &entry, use);
    }
}

static void add(struct builder *builder, const struct qmpi_entry *entry, const struct use *outer)
{
    int section;
    /* What makes the stack too high anyway is not looked up. */
    const bool counts = builder->stack->layers.count <= ENTRIES_MAX;
    const struct qmpi_config_file *file =
        entry->name && counts ? find_stack(builder, entry->name, &section) : NULL;
    char *problem = file ? check_use(entry, outer) : NULL;
    if (problem) {
        struct qmpi_entry wrong = *entry;
        wrong.name = NULL;
        wrong.problem = problem;
        add_entry(builder, &wrong, outer);
        free(problem);
    } else if (file) {
        const char *name = file->config.sections[section].name;
        add_section(builder, file, section, &(struct use){name, entry, outer});
    } else {
        add_entry(builder, entry, outer);
    }
}

/* ---- The parts of the stack ------------------------------------------------------------------ */

static void note(struct qmpi_tool_stack *stack, char *line)
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

/* `qmpi run` says what the user wrote: QMPI_TOOLS, or -t. */
static const char *name_of_variable(const char *variable)
{
    const char *value = secure_getenv(variable), *option = secure_getenv("QMPI_TOOLS_OPTION");
    return variable == variables[0] && option && !strcmp(option, value) ? "-t" : variable;
}

static void note_replaced(struct builder *builder)
{
    for (int i = 0; i < builder->file_count; i++) {
        if (has_middle(&builder->files[i]))
            note(builder->stack,
                 qmpi_message("%s replaces the tools that stand outside a section in %s",
                              builder->stack->source, builder->files[i].path));
    }
}

static void add_variable(struct builder *builder)
{
    struct qmpi_tool_list list;
    qmpi_tool_list_parse(qmpi_getenv(builder->stack->variable), &list);
    for (int i = 0; i < list.count; i++) {
        list.entries[i].source = builder->stack->source;
        add(builder, &list.entries[i], NULL);
    }
    qmpi_tool_list_free(&list);
}

static void find_middle(struct builder *builder)
{
    struct qmpi_tool_stack *stack = builder->stack;
    stack->source = variables[0];
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !stack->variable; i++) {
        if (secure_getenv(variables[i]))
            stack->variable = variables[i];
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
    if (builder->stack->variable) {
        note_replaced(builder);
        add_variable(builder);
        return;
    }
    for (int i = 0; i < builder->file_count; i++)
        add_section(builder, &builder->files[i], QMPI_SECTION_MIDDLE, NULL);
}

/* ---- What is left out ------------------------------------------------------------------------ */

static bool is_required(const struct qmpi_entry *entry)
{
    const char *value = entry->reserved[QMPI_RESERVED_REQUIRED];
    return entry->scope == QMPI_SCOPE_SITE && value && !strcmp(value, "yes");
}

static void leave_out_disabled(struct qmpi_tool_stack *stack)
{
    if (!qmpi_disable_is_given())
        return;
    struct qmpi_tool_list all = stack->layers;
    stack->layers = (struct qmpi_tool_list){NULL, 0};
    for (int i = 0; i < all.count; i++) {
        const struct qmpi_entry *entry = &all.entries[i];
        const bool disabled = qmpi_disable_matches(entry), required = is_required(entry);
        if (disabled && required)
            note(stack,
                 qmpi_message("QMPI_DISABLE does not leave out '%s': the site requires it "
                              "(%s, line %d)",
                              entry->name ? entry->name : entry->text, entry->source, entry->line));
        qmpi_tool_list_move(disabled && !required ? &stack->disabled : &stack->layers, entry);
    }
    free(all.entries);
}

/* ---- The whole stack ------------------------------------------------------------------------- */

/* A trial of single tools is about what it lists, and nothing else. */
static bool wants_files(void)
{
    const char *trial = qmpi_getenv("QMPI_TRIAL");
    return !trial || strcmp(trial, "alone") != 0;
}

void qmpi_stack_read(struct qmpi_tool_stack *stack)
{
    struct builder builder = {.stack = stack};
    *stack = (struct qmpi_tool_stack){.notes = qmpi_copy("")};
    builder.files = qmpi_config_files(&builder.file_count);
    if (!wants_files())
        builder.file_count = 0;
    for (int i = 0; i < builder.file_count; i++)
        add_section(&builder, &builder.files[i], QMPI_SECTION_TOP, NULL);
    add_middle(&builder);
    for (int i = builder.file_count - 1; i >= 0; i--)
        add_section(&builder, &builder.files[i], QMPI_SECTION_BOTTOM, NULL);
    leave_out_disabled(stack);
}

void qmpi_stack_free(struct qmpi_tool_stack *stack)
{
    qmpi_tool_list_free(&stack->layers);
    qmpi_tool_list_free(&stack->disabled);
    free(stack->notes);
    stack->notes = NULL;
}

void qmpi_stack_each_name(void (*each)(void *data, const char *name, const char *path, int line),
                          void *data)
{
    struct builder builder = {.stack = NULL};
    builder.files = qmpi_config_files(&builder.file_count);
    for (int i = 0; i < builder.file_count; i++) {
        const struct qmpi_config *config = &builder.files[i].config;
        for (int k = QMPI_SECTION_STACKS; k < config->section_count; k++) {
            int section;
            if (find_stack(&builder, config->sections[k].name, &section) == &builder.files[i])
                each(data, config->sections[k].name, builder.files[i].path,
                     config->sections[k].line);
        }
    }
}
