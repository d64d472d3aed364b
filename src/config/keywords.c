/* SPDX-License-Identifier: MIT */
/* See keywords.h. */
#include "config/keywords.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

bool qmpi_config_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

const char *qmpi_config_skip_blanks(const char *text)
{
    while (qmpi_config_is_blank(*text))
        text++;
    return text;
}

/* Reads `"…"` from its first character on; `end` is set behind it. NULL: `problem` is set. */
static char *read_quoted(const char *text, const char **end, char **problem)
{
    char *word = qmpi_allocate(strlen(text) + 1, 1);
    size_t length = 0;
    for (text++; *text && *text != '"'; text++) {
        if (*text == '\\') {
            text++;
            if (*text != '"' && *text != '\\') {
                *problem = qmpi_copy("invalid escape sequence between the quotes\n"
                                     "hint: write \\\\ for a backslash and \\\" for a quote");
                free(word);
                return NULL;
            }
        }
        word[length++] = *text;
    }
    if (!*text) {
        *problem = qmpi_copy("the closing quote is missing\n"
                             "hint: end the text with \"");
        free(word);
        return NULL;
    }
    *end = text + 1;
    return word;
}

char *qmpi_config_read_word(const char *text, char stop, const char **end, char **problem)
{
    text = qmpi_config_skip_blanks(text);
    if (*text == '"') {
        char *word = read_quoted(text, end, problem);
        if (!word)
            return NULL;
        const char *behind = qmpi_config_skip_blanks(*end);
        if (*behind && *behind != stop && (*behind != '#' || behind == *end)) {
            *problem = qmpi_copy(
                "unexpected text after the closing quote\n"
                "hint: put the whole text between the quotes, and write \\\" for a quote");
            free(word);
            return NULL;
        }
        *end = *behind == '#' ? behind + strlen(behind) : behind;
        return word;
    }
    size_t length = 0, used = 0;
    for (; text[length] && (!stop || text[length] != stop); length++) {
        if (text[length] == '#' && (!length || qmpi_config_is_blank(text[length - 1]))) {
            *end = text + strlen(text);
            return qmpi_copy_part(text, used);
        }
        if (!qmpi_config_is_blank(text[length]))
            used = length + 1;
    }
    *end = text + length;
    return qmpi_copy_part(text, used);
}

bool qmpi_config_read_pair(const char *text, char **key, char **value, char **problem)
{
    const char *end;
    *key = qmpi_config_read_word(text, '=', &end, problem);
    if (!*key)
        return false;
    if (*end == '=' && **key) {
        *value = qmpi_config_read_word(end + 1, '\0', &end, problem);
        if (*value)
            return true;
    } else {
        *problem = qmpi_copy("not of the form key = value\n"
                             "hint: write the option's name, `=` and its value");
    }
    free(*key);
    return false;
}
