/* SPDX-License-Identifier: MIT */
/* See options.h. */
#include "toolkit/options.h"

#include "toolkit/output_name.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>
#include <string.h>

void tool_option_fail(int tool_id, const char *key, const char *value, const char *hint)
{
    char *shown = qmpi_shorten(value);
    char *message = qmpi_message("invalid value %s=%s\n"
                                 "hint: %s",
                                 key, shown, hint);
    QMPIX_Tool_fail(tool_id, message);
    free(message);
    free(shown);
}

bool tool_option_word(int tool_id, const char *key, const char *const *words, const char *hint,
                      int *place)
{
    const char *value = words[0];
    QMPIX_Tool_get_option(tool_id, key, &value);
    for (*place = 0; words[*place]; ++*place) {
        if (!strcmp(value, words[*place]))
            return true;
    }
    tool_option_fail(tool_id, key, value, hint);
    return false;
}

bool tool_option_file(int tool_id, const char *key, const char **pattern)
{
    if (QMPIX_Tool_get_option(tool_id, key, pattern) != MPI_SUCCESS)
        return true;
    char *name = **pattern ? tool_file_name(*pattern, tool_id, 0) : NULL;
    if (!name)
        tool_option_fail(
            tool_id, key, *pattern,
            "give a file name; %r %p %t %h are placeholders, and %% is a percent sign");
    free(name);
    return name != NULL;
}

static bool names_the_same(int other, const char *key, const char *mine)
{
    const char *pattern;
    if (QMPIX_Tool_get_option(other, key, &pattern) != MPI_SUCCESS)
        return false;
    char *its = tool_file_name(pattern, other, 0);
    const bool same = its && !strcmp(mine, its);
    free(its);
    return same;
}

bool tool_option_file_is_taken(int tool_id, const char *key, const char *pattern)
{
    int count = 0, taken = 0;
    char *mine = pattern ? tool_file_name(pattern, tool_id, 0) : NULL;
    const bool can_be = mine && !tool_file_name_is_special(mine);
    QMPIX_Tool_count(&count);
    for (int other = tool_id + 1; can_be && !taken && other <= count; other++) {
        if (names_the_same(other, "output", mine) || names_the_same(other, "csv", mine))
            taken = other;
    }
    free(mine);
    if (!taken)
        return false;
    const char *name = "";
    QMPIX_Tool_get_name(taken, &name);
    char *shown = qmpi_shorten(pattern);
    char *message = qmpi_message("%s=%s: layer %d (%.100s) writes the same file\nhint: put %%t "
                                 "(the number of the layer) into the names",
                                 key, shown, taken, name);
    QMPIX_Tool_fail(tool_id, message);
    free(message);
    free(shown);
    return true;
}
