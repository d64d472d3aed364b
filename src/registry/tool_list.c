/* SPDX-License-Identifier: MIT */
/* See tool_list.h. */
#include "tool_list.h"

#include "message.h"

#include <stdlib.h>
#include <string.h>

/* The length of `text` up to the first unescaped `separator`, or to its end. */
static size_t length_to(const char *text, size_t length, char separator)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == separator)
            return i;
    }
    return length;
}

static char *unescape(const char *text, size_t length)
{
    char *plain = qmpi_allocate(length + 1, 1);
    size_t end = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\' && i + 1 < length)
            i++;
        plain[end++] = text[i];
    }
    return plain;
}

/* A backslash must stand before one of `:` `,` `=` `\`. NULL: all do. */
static char *check_escapes(const char *text)
{
    for (; *text; text++) {
        if (*text != '\\')
            continue;
        text++;
        if (!*text)
            return qmpi_copy("it ends in a backslash that escapes nothing\n"
                             "mend: remove it, or write \\\\ for a backslash");
        if (!strchr(":,=\\", *text))
            return qmpi_message(
                "\\%c is no escape\nmend: only : , = and \\ are escaped; write \\\\ "
                "for a backslash",
                *text);
    }
    return NULL;
}

static char *parse_option(struct qmpi_entry *entry, const char *text, size_t length)
{
    const size_t key_length = length_to(text, length, '=');
    if (key_length == length || key_length == 0) {
        char *option = qmpi_copy_part(text, length);
        char *shown = qmpi_shorten(option);
        char *problem =
            qmpi_message("option '%s' is not of the form key=value\n"
                         "mend: write NAME,key=value; a comma inside a value is written "
                         "\\,",
                         shown);
        free(shown);
        free(option);
        return problem;
    }
    struct qmpi_option option = {unescape(text, key_length),
                                 unescape(text + key_length + 1, length - key_length - 1)};
    for (int i = 0; i < entry->option_count; i++) {
        if (!strcmp(entry->options[i].key, option.key)) {
            char *shown = qmpi_shorten(option.key);
            char *problem =
                qmpi_message("option '%s' is given twice\nmend: keep one of them", shown);
            free(shown);
            free(option.key);
            free(option.value);
            return problem;
        }
    }
    entry->options[entry->option_count++] = option;
    return NULL;
}

static void parse_entry(struct qmpi_entry *entry)
{
    const char *text = entry->text;
    size_t left = strlen(text);
    entry->problem = check_escapes(text);
    if (entry->problem)
        return;
    size_t commas = 0;
    for (size_t i = 0; i < left; i++)
        commas += text[i] == ',';
    entry->options = qmpi_allocate(commas, sizeof *entry->options);

    const size_t name_length = length_to(text, left, ',');
    if (!name_length) {
        entry->problem = qmpi_copy("it has options but no name\nmend: write NAME,key=value");
        return;
    }
    entry->name = unescape(text, name_length);
    text += name_length;
    left -= name_length;
    while (left && !entry->problem) { /* text[0] is a comma */
        const size_t length = length_to(text + 1, left - 1, ',');
        entry->problem = parse_option(entry, text + 1, length);
        text += length + 1;
        left -= length + 1;
    }
}

void qmpi_tool_list_parse(const char *text, struct qmpi_tool_list *list)
{
    *list = (struct qmpi_tool_list){NULL, 0};
    if (!text)
        return;
    size_t room = 1;
    for (const char *c = text; *c; c++)
        room += *c == ':';
    list->entries = qmpi_allocate(room, sizeof *list->entries);
    size_t left = strlen(text);
    for (;;) {
        const size_t length = length_to(text, left, ':');
        if (length) {
            struct qmpi_entry *entry = &list->entries[list->count++];
            entry->position = list->count;
            entry->text = qmpi_copy_part(text, length);
            parse_entry(entry);
        }
        if (length == left)
            return;
        text += length + 1;
        left -= length + 1;
    }
}

void qmpi_tool_list_free(struct qmpi_tool_list *list)
{
    for (int i = 0; i < list->count; i++) {
        struct qmpi_entry *entry = &list->entries[i];
        for (int k = 0; k < entry->option_count; k++) {
            free(entry->options[k].key);
            free(entry->options[k].value);
        }
        free(entry->options);
        free(entry->text);
        free(entry->name);
        free(entry->problem);
    }
    free(list->entries);
    *list = (struct qmpi_tool_list){NULL, 0};
}
