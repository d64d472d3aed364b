/* SPDX-License-Identifier: MIT */
/* See parse.h. Line by line: the margin tells settings and tools from options. */
#include "config/parse.h"

#include "config/keywords.h"
#include "util/util.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TOOL_PATH, ON_ERROR, DEBUG, INTERNAL, CLOCK };

const struct qmpi_config_name qmpi_config_names[QMPI_CONFIG_SETTINGS] = {
    [TOOL_PATH] = {"tool-path", "QMPI_TOOL_PATH"},
    [ON_ERROR] = {"on-error", "QMPI_ON_ERROR"},
    [DEBUG] = {"debug", "QMPI_DEBUG"},
    [INTERNAL] = {"internal", "QMPI_INTERNAL"},
    [CLOCK] = {"clock", "QMPI_CLOCK"},
};

/* What the values of a setting are; NULL: any text. */
static const char *const value_choices[QMPI_CONFIG_SETTINGS][3] = {
    [ON_ERROR] = {"stop", "skip"},
    [INTERNAL] = {"0", "1"},
    [CLOCK] = {"tsc", "monotonic"},
};

struct reader {
    struct qmpi_config *config;
    const char *folder;
    int line;                            /* the present one, from 1 */
    char *text;                          /* that line, without blanks around it */
    struct qmpi_entry *tool;             /* the last line at the margin was this tool; NULL: none */
    int lines_set[QMPI_CONFIG_SETTINGS]; /* where each setting is; 0: not yet */
    size_t tool_room, problem_room;
};

/* Makes room for one more element in an array of `count`. */
static void *grow(void *array, size_t *room, int count, size_t size)
{
    if ((size_t)count < *room)
        return array;
    *room = *room ? 2 * *room : 8;
    char *larger = qmpi_allocate(*room, size);
    if (count)
        memcpy(larger, array, (size_t)count * size);
    free(array);
    return larger;
}

/* ---- What is wrong --------------------------------------------------------------------------- */

/* Takes ownership of `problem`. A file with thousands of invalid lines is not a configuration file,
 * so a few messages suffice. */
static void add_problem(struct reader *reader, char *problem)
{
    enum { PRINTED_MAX = 20 };
    struct qmpi_config *config = reader->config;
    if (config->problem_count == PRINTED_MAX) {
        free(problem);
        return;
    }
    config->problems = grow(config->problems, &reader->problem_room, config->problem_count,
                            sizeof *config->problems);
    config->problems[config->problem_count++] =
        (struct qmpi_config_problem){reader->line, qmpi_copy(reader->text), problem};
}

/* The first wrong line of a tool is the tool's problem. */
static void spoil_tool(struct reader *reader, struct qmpi_entry *tool, char *problem)
{
    if (tool->problem) {
        free(problem);
        return;
    }
    tool->problem = problem;
    tool->line = reader->line;
    free(tool->text);
    tool->text = qmpi_copy(reader->text);
    free(tool->name);
    tool->name = NULL;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

static char *resolve(const struct reader *reader, const char *path)
{
    if (*path == '/')
        return qmpi_copy(path);
    while (!strncmp(path, "./", 2))
        path += 2;
    return qmpi_format("%s/%s", reader->folder, path);
}

/* Every directory of a colon list. */
static char *resolve_list(const struct reader *reader, const char *list)
{
    char *all = qmpi_copy("");
    while (*list) {
        const size_t length = strcspn(list, ":");
        char *folder = qmpi_copy_part(list, length);
        if (length) {
            char *path = resolve(reader, folder);
            char *longer = qmpi_format("%s%s%s", all, *all ? ":" : "", path);
            free(path);
            free(all);
            all = longer;
        }
        free(folder);
        list += length + (list[length] == ':');
    }
    return all;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static char *list_settings(void)
{
    char *list = qmpi_copy("");
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        char *longer = qmpi_format("%s%s%s", list, i ? ", " : "", qmpi_config_names[i].key);
        free(list);
        list = longer;
    }
    return list;
}

static int find_setting(const char *key)
{
    int setting = QMPI_CONFIG_SETTINGS - 1;
    while (setting >= 0 && strcmp(qmpi_config_names[setting].key, key) != 0)
        setting--;
    return setting;
}

static bool is_choice(int setting, const char *value)
{
    const char *const *choice = value_choices[setting];
    while (*choice && strcmp(*choice, value) != 0)
        choice++;
    return *choice || choice == value_choices[setting];
}

/* NULL, or what is wrong; takes `value` over. */
static char *set(struct reader *reader, const char *key, char *value)
{
    const int setting = find_setting(key);
    char *problem = NULL;
    if (setting < 0) {
        char *shown = qmpi_shorten(key), *known = list_settings();
        problem = qmpi_message("unknown setting '%s'; the settings are %s\n"
                               "hint: correct the name; write a tool on a line of its own, with "
                               "its options indented below it",
                               shown, known);
        free(shown);
        free(known);
    } else if (reader->lines_set[setting]) {
        problem = qmpi_message("'%s' is set twice, first in line %d\nhint: keep one of them", key,
                               reader->lines_set[setting]);
    } else if (!is_choice(setting, value)) {
        const char *const *choices = value_choices[setting];
        char *shown = qmpi_shorten(value);
        problem = qmpi_message("invalid value for '%s': '%s'\n"
                               "hint: set it to %s or %s",
                               key, shown, choices[0], choices[1]);
        free(shown);
    } else {
        reader->lines_set[setting] = reader->line;
        reader->config->settings[setting] =
            setting == TOOL_PATH ? resolve_list(reader, value) : qmpi_copy(value);
    }
    free(value);
    return problem;
}

/* A path may hold an equals sign, a setting's name no slash. */
static bool is_setting(const char *text)
{
    const char *equals = strchr(text, '=');
    return equals && *text != '"' && strcspn(text, "/#") > (size_t)(equals - text);
}

static void read_setting(struct reader *reader)
{
    char *key, *value, *problem = NULL;
    reader->tool = NULL;
    if (qmpi_config_read_pair(reader->text, &key, &value, &problem)) {
        problem = set(reader, key, value);
        free(key);
    }
    if (problem)
        add_problem(reader, problem);
}

static void read_tool(struct reader *reader)
{
    struct qmpi_tool_list *tools = &reader->config->tools;
    const char *end;
    char *problem = NULL;
    tools->entries = grow(tools->entries, &reader->tool_room, tools->count, sizeof *tools->entries);
    struct qmpi_entry *tool = reader->tool = &tools->entries[tools->count++];
    *tool = (struct qmpi_entry){
        .position = tools->count, .line = reader->line, .text = qmpi_copy(reader->text)};
    char *name = qmpi_config_read_word(reader->text, '\0', &end, &problem);
    if (name && !*name)
        problem = qmpi_copy("the tool has no name\n"
                            "hint: write the name or the path of a tool");
    else if (name && *reader->text != '"' && name[strcspn(name, ",: \t\"")])
        problem = qmpi_copy("unexpected text after the name of the tool\n"
                            "hint: write one tool per line, with its options indented below it; "
                            "put a path with such characters between quotes");
    else if (name)
        tool->name = strchr(name, '/') ? resolve(reader, name) : qmpi_copy(name);
    free(name);
    if (problem)
        spoil_tool(reader, tool, problem);
}

static void read_option(struct reader *reader)
{
    char *key, *value, *problem = NULL;
    if (!reader->tool)
        problem = qmpi_copy("an indented line is an option, but no tool precedes it\n"
                            "hint: remove the indentation, or move the line below its tool");
    else if (qmpi_config_read_pair(reader->text, &key, &value, &problem))
        problem = qmpi_entry_add_option(reader->tool, key, value);
    if (problem && reader->tool)
        spoil_tool(reader, reader->tool, problem);
    else if (problem)
        add_problem(reader, problem);
}

static void read_line(struct reader *reader, const char *line)
{
    const char *text = qmpi_config_skip_blanks(line);
    if (!*text || *text == '#')
        return;
    size_t length = strlen(text);
    while (qmpi_config_is_blank(text[length - 1]))
        length--;
    reader->text = qmpi_copy_part(text, length);
    if (text != line)
        read_option(reader);
    else if (is_setting(text))
        read_setting(reader);
    else
        read_tool(reader);
    free(reader->text);
}

void qmpi_config_parse(const char *text, size_t size, const char *folder,
                       struct qmpi_config *config)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin a file with it */
    struct reader reader = {.config = config, .folder = folder};
    *config = (struct qmpi_config){.problem_count = 0};
    if (memchr(text, '\0', size)) {
        reader.text = "";
        add_problem(&reader, qmpi_copy("not a text file\nhint: name a configuration file"));
        return;
    }
    if (size >= 3 && !memcmp(text, mark, 3)) {
        text += 3;
        size -= 3;
    }
    while (size) {
        const char *newline = memchr(text, '\n', size);
        const size_t length = newline ? (size_t)(newline - text) : size;
        char *line = qmpi_copy_part(text, length);
        reader.line++;
        read_line(&reader, line);
        free(line);
        text += length + (newline != NULL);
        size -= length + (newline != NULL);
    }
}

void qmpi_config_free(struct qmpi_config *config)
{
    qmpi_tool_list_free(&config->tools);
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++)
        free(config->settings[i]);
    for (int i = 0; i < config->problem_count; i++) {
        free(config->problems[i].text);
        free(config->problems[i].problem);
    }
    free(config->problems);
    *config = (struct qmpi_config){.problem_count = 0};
}
