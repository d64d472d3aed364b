/* SPDX-License-Identifier: MIT */
/* See reserved_options.h. */
#include "config/reserved_options.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum { CHOICES = 3 };

static const struct {
    const char *name;
    const char *choices[CHOICES]; /* none: any text */
} options[QMPI_RESERVED_OPTIONS] = {
    [QMPI_RESERVED_PRELOAD] = {"@preload", {"yes", "no"}},
    [QMPI_RESERVED_REQUIRED] = {"@required", {"yes", "no"}},
    [QMPI_RESERVED_FORCE] = {"@force", {"yes", "no"}},
};

const char *qmpi_reserved_option_name(enum qmpi_reserved_option option)
{
    return options[option].name;
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
    return choice(number, i) || i == 0;
}

int qmpi_reserved_option_find(const char *key, const char *value, char **problem)
{
    char *shown, *known;
    for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++) {
        if (strcmp(options[i].name, key) != 0)
            continue;
        if (takes(i, value))
            return i;
        shown = qmpi_shorten(value);
        known = list(choice, i);
        *problem = qmpi_message("invalid value for option '%s': '%s'\n"
                                "hint: use one of %s",
                                key, shown, known);
        free(shown);
        free(known);
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
