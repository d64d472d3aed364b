/* SPDX-License-Identifier: MIT */
/* See reserved_options.h. */
#include "config/reserved_options.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum { CHOICES = 3 };

/* ---- What a value may be --------------------------------------------------------------------- */

static bool is_set(const char *value)
{
    struct qmpi_number_set set;
    const bool is = qmpi_number_set_read(value, &set);
    free(set.ranges);
    return is;
}

/* At least one item that is not empty. */
static bool is_list(const char *value)
{
    return value[strspn(value, "; ")] != '\0';
}

static bool is_variable(const char *value)
{
    return *value &&
           !value[strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_")] &&
           !(*value >= '0' && *value <= '9');
}

/* ---- The options ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *choices[CHOICES];        /* none: see is_valid */
    bool (*is_valid)(const char *value); /* of an option without choices; NULL: any text is */
    const char *hint;                    /* what is valid */
    bool is_condition;
} options[QMPI_RESERVED_OPTIONS] = {
    [QMPI_RESERVED_PRELOAD] = {.name = "@preload", .choices = {"yes", "no"}},
    [QMPI_RESERVED_REQUIRED] = {.name = "@required", .choices = {"yes", "no"}},
    [QMPI_RESERVED_FORCE] = {.name = "@force", .choices = {"yes", "no"}},
    [QMPI_RESERVED_OPTIONAL] = {.name = "@optional", .choices = {"yes", "no"}},
    [QMPI_RESERVED_RANKS] = {"@ranks", {NULL}, is_set, QMPI_NUMBER_SET_HINT, true},
    [QMPI_RESERVED_NODES] =
        {"@nodes", {NULL}, is_list, "give names of nodes, or patterns, separated by ;", true},
    [QMPI_RESERVED_PROGRAM] =
        {"@program", {NULL}, is_list, "give names of programs, or patterns, separated by ;", true},
    [QMPI_RESERVED_IF_ENV] =
        {"@if-env", {NULL}, is_variable, "give the name of an environment variable", true},
    [QMPI_RESERVED_ENABLED] = {.name = "@enabled", .choices = {"yes", "no"}, .is_condition = true},
    [QMPI_RESERVED_FUNCTIONS] =
        {"@functions", {NULL}, is_list, "give functions, patterns or groups, separated by ;", true},
};

const char *qmpi_reserved_option_name(enum qmpi_reserved_option option)
{
    return options[option].name;
}

bool qmpi_reserved_option_is_condition(enum qmpi_reserved_option option)
{
    return options[option].is_condition;
}

bool qmpi_reserved_option_is_meant(const char *key)
{
    return *key == '@';
}

/* `words` with commas between them. */
static char *list(const char *(*word)(int number, int index), int number)
{
    char *all = qmpi_copy("");
    const char *next;
    for (int i = 0; (next = word(number, i)); i++) {
        char *longer = qmpi_format("%s%s%s", all, i ? ", " : "", next);
        free(all);
        all = longer;
    }
    return all;
}

static const char *name(int number, int index)
{
    (void)number;
    return index < QMPI_RESERVED_OPTIONS ? options[index].name : NULL;
}

static const char *name_at(const void *data, int index)
{
    (void)data;
    return name(0, index);
}

static const char *choice(int number, int index)
{
    return index < CHOICES ? options[number].choices[index] : NULL;
}

static bool takes(int number, const char *value)
{
    int i = 0;
    while (choice(number, i) && strcmp(choice(number, i), value) != 0)
        i++;
    if (i || choice(number, i))
        return choice(number, i) != NULL;
    return (!options[number].is_valid || options[number].is_valid(value)) &&
           !(options[number].is_condition && strstr(value, QMPI_RESERVED_SEPARATOR));
}

static char *refuse_value(int number, const char *value)
{
    char *shown = qmpi_shorten(value), *choices = list(choice, number);
    char *problem = qmpi_message("invalid value for option '%s': '%s'\n"
                                 "hint: %s%s",
                                 options[number].name, shown, *choices ? "use one of " : "",
                                 *choices ? choices : options[number].hint);
    free(shown);
    free(choices);
    return problem;
}

int qmpi_reserved_option_find(const char *key, const char *value, char **problem)
{
    char *shown, *known;
    for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++) {
        if (strcmp(options[i].name, key) != 0)
            continue;
        if (takes(i, value))
            return i;
        *problem = refuse_value(i, value);
        return -1;
    }
    shown = qmpi_shorten(key);
    known = list(name, 0);
    const char *similar = qmpi_suggest(key, name_at, NULL);
    *problem = qmpi_message("unknown option '%s'\n"
                            "hint: %s%s%suse one of qmpi's own options, which start with @: %s",
                            shown, similar ? "did you mean '" : "", similar ? similar : "",
                            similar ? "'? Else " : "", known);
    free(shown);
    free(known);
    return -1;
}
