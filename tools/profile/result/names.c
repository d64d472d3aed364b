/* SPDX-License-Identifier: MIT */
/* See names.h. The page has the same rules in html/model.js. */
#include "tools/profile/result/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the word `operator` ends at `end`, so that the following < and > belong to its
 * name. */
static bool is_operator(const char *name, const char *end)
{
    const size_t length = sizeof "operator" - 1;
    while (end > name && end[-1] == ' ')
        end--;
    if ((size_t)(end - name) < length || memcmp(end - length, "operator", length) != 0)
        return false;
    const char *before = end - length;
    return before == name || (!isalnum((unsigned char)before[-1]) && before[-1] != '_');
}

/* Returns the end of the symbols of an operator: <, <<, <=, <=>, <<=, >, ->, … */
static const char *skip_symbols(const char *at)
{
    return at + strspn(at, "<>=-");
}

/* Returns the position after the last > of the arguments of a template that begin at `at`, or NULL
 * if they do not end. */
static const char *skip_arguments(const char *name, const char *at)
{
    int depth = 0;
    while (*at) {
        const bool is_arrow = at[0] == '-' && at[1] == '>';
        if ((*at == '<' || *at == '>' || is_arrow) && is_operator(name, at)) {
            at = skip_symbols(at);
            continue;
        }
        if (*at == '<')
            depth++;
        else if (*at == '>' && --depth == 0)
            return at + 1;
        at += is_arrow ? 2 : 1;
    }
    return NULL;
}

/* Replaces the arguments of templates by "<...>" in place, unless this would not shorten
 * them. */
static void leave_arguments_out(char *name)
{
    static const char dots[] = "<...>";
    const size_t length = sizeof dots - 1;
    for (char *at = name; *at;) {
        if (*at != '<') {
            at++;
            continue;
        }
        if (is_operator(name, at)) {
            at += skip_symbols(at) - at;
            continue;
        }
        const char *end = skip_arguments(name, at);
        if (!end)
            return;
        if ((size_t)(end - at) > length) {
            memcpy(at, dots, length);
            memmove(at + length, end, strlen(end) + 1);
            at += length;
        } else {
            at += end - at;
        }
    }
}

char *names_shorten(const char *name, size_t most)
{
    const size_t length = strlen(name);
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, name, length + 1);
    if (length > most)
        leave_arguments_out(copy);
    if (strlen(copy) > most) {
        copy[most] = '\0';
        if (most > 3)
            memcpy(copy + most - 3, "...", 3);
    }
    return copy;
}
