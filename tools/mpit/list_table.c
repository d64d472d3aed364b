/* SPDX-License-Identifier: MIT */
/* See list.h. */
#define _GNU_SOURCE
#include "constants.h"
#include "list.h"
#include "patterns.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_WIDTH = 24 };

static int name_width(const struct list *list, const struct variable *variables, int count)
{
    int width = 4;
    for (int i = 0; i < count; i++) {
        const char *name = variables[i].name;
        if (name && globs_match(list->patterns, name) && (int)strlen(name) > width)
            width = (int)strlen(name);
    }
    return width;
}

/* A line of a table is one line, whatever a string holds. */
static void print_line(FILE *stream, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], stream);
}

static void print_value(FILE *stream, const struct variable *variable)
{
    char *text = NULL;
    size_t length = 0;
    FILE *value = open_memstream(&text, &length);
    if (!value)
        return;
    if (!variable->data)
        fputc('-', value);
    else
        value_print(value, variable->type, variable->data, variable->count);
    if (variable->label)
        fprintf(value, " (%s)", variable->label);
    fclose(value);
    print_line(stream, text, length);
    fprintf(stream, "%*s ", length < VALUE_WIDTH ? VALUE_WIDTH - (int)length : 0, "");
    free(text);
}

static void print_variable(FILE *stream, const struct variable *variable, int width,
                           const char *word)
{
    char type[64];
    const char *name = variable->type ? variable->type->name : "?";
    if (variable->count > 1)
        snprintf(type, sizeof type, "%s[%d]", name, variable->count);
    else
        snprintf(type, sizeof type, "%s", name);
    fprintf(stream, "  %-*s ", width, variable->name);
    print_value(stream, variable);
    fprintf(stream, "%-22s %-13s %-12s %-8s ", type, word, word_of_verbosity(variable->verbosity),
            word_of_binding(variable->bind));
    print_line(stream, variable->description, strcspn(variable->description, "\n"));
    fputc('\n', stream);
}

static int count_shown(const struct list *list, const struct variable *variables, int count)
{
    int shown = 0;
    for (int i = 0; i < count; i++)
        shown += variables[i].name && globs_match(list->patterns, variables[i].name);
    return shown;
}

static void print_variables(FILE *stream, const struct list *list, const char *title,
                            const struct variable *variables, int count, bool are_pvars)
{
    const int width = name_width(list, variables, count);
    if (!count_shown(list, variables, count))
        return;
    fprintf(stream, "%s\n  %-*s %-*s %-22s %-13s %-12s %-8s %s\n", title, width, "name",
            VALUE_WIDTH, "value", "type", are_pvars ? "class" : "scope", "for", "bound to",
            "description");
    for (int i = 0; i < count; i++) {
        const struct variable *variable = &variables[i];
        if (variable->name && globs_match(list->patterns, variable->name))
            print_variable(stream, variable, width,
                           are_pvars ? word_of_class(variable->var_class)
                                     : word_of_scope(variable->scope));
    }
}

static void print_categories(FILE *stream, const struct list *list)
{
    const struct catalogue *all = list->catalogue;
    bool begun = false;
    for (int i = 0; i < all->category_count; i++) {
        const struct category *category = &all->categories[i];
        if (!globs_match(list->patterns, category->name))
            continue;
        if (!begun)
            fprintf(stream, "categories\n  %-32s %8s %11s %10s %s\n", "name", "control",
                    "performance", "categories", "description");
        begun = true;
        fprintf(stream, "  %-32s %8d %11d %10d ", category->name, category->cvars.count,
                category->pvars.count, category->categories.count);
        print_line(stream, category->description, strcspn(category->description, "\n"));
        fputc('\n', stream);
    }
}

void list_table(FILE *stream, const struct list *list)
{
    const struct catalogue *all = list->catalogue;
    fprintf(stream,
            "mpit (layer %d): %d control variables, %d performance variables, %d categories, at "
            "MPI_%s in rank %d\n",
            list->tool_id, all->cvar_count, all->pvar_count, all->category_count,
            !strcmp(list->moment, "init") ? "Init" : "Finalize", list->rank);
    if (all->early)
        fprintf(stream, "the values of the MPI library's control variables are from before MPI was "
                        "initialized, because some no longer exist\n");
    print_variables(stream, list, "control variables", all->cvars, all->cvar_count, false);
    print_variables(stream, list, "performance variables", all->pvars, all->pvar_count, true);
    print_categories(stream, list);
}
