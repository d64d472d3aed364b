/* SPDX-License-Identifier: MIT */
/* See section_header.h. */
#include "config/section_header.h"

#include "config/keywords.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* Returns what is between the brackets, without blanks around it, to be freed. NULL: `problem` is
 * set. */
static char *read_brackets(const char *text, char **problem)
{
    const char *end;
    char *word = qmpi_config_read_word(text, '\0', &end, problem);
    if (!word)
        return NULL;
    size_t length = strlen(word);
    if (word[length - 1] != ']') {
        free(word);
        *problem = qmpi_copy("the closing bracket is missing\n"
                             "hint: write [above], [below] or [stack NAME] on a line of its own");
        return NULL;
    }
    const char *name = qmpi_config_skip_blanks(word + 1);
    length--;
    while (word + length > name && qmpi_config_is_blank(word[length - 1]))
        length--;
    char *inside = qmpi_copy_part(name, (size_t)(word + length - name));
    free(word);
    return inside;
}

/* NULL: a stack can have this name. It is written in QMPI_TOOLS, in patterns and in messages. */
static char *check_stack_name(const char *name)
{
    if (*name && *name != '~' && !name[strcspn(name, "/:,=@[]\\\"*?# \t\r\v\f")])
        return NULL;
    char *shown = qmpi_shorten(name);
    char *problem = qmpi_message("'%s' cannot be the name of a stack\n"
                                 "hint: use letters, digits, '-', '_' and '.'",
                                 shown);
    free(shown);
    return problem;
}

static char *check_section(const char *name)
{
    static const char *const names[] = {"above", "below", NULL};
    for (int i = 0; names[i]; i++) {
        if (!strcmp(names[i], name))
            return NULL;
    }
    char *shown = qmpi_shorten(name);
    const char *similar = qmpi_suggest_word(name, names);
    char *problem = qmpi_message(
        "unknown section '%s'\nhint: %s%s%s", shown, similar ? "did you mean [" : "",
        similar ? similar : "write [above], [below] or [stack NAME]", similar ? "]?" : "");
    free(shown);
    return problem;
}

char *qmpi_section_header_read(const char *text, char **name, bool *stack)
{
    static const char word[] = "stack";
    const size_t length = sizeof word - 1;
    char *problem = NULL, *inside = read_brackets(text, &problem);
    *name = NULL;
    if (!inside)
        return problem;
    *stack =
        !strncmp(inside, word, length) && (!inside[length] || qmpi_config_is_blank(inside[length]));
    char *found = qmpi_copy(*stack ? qmpi_config_skip_blanks(inside + length) : inside);
    free(inside);
    problem = *stack ? check_stack_name(found) : check_section(found);
    if (problem)
        free(found);
    else
        *name = found;
    return problem;
}
