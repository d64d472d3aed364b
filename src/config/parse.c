/* SPDX-License-Identifier: MIT */
/* See parse.h. Line by line: the margin tells sections, settings and tools from options. */
#include "config/parse.h"

#include "config/keywords.h"
#include "config/section_header.h"
#include "util/util.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct qmpi_config *config;
    const char *folder;
    int line;                /* the present one, from 1 */
    char *text;              /* that line, without blanks around it */
    int section;             /* that it is in; NO_SECTION: in one that is invalid */
    struct qmpi_entry *tool; /* the last line at the margin was this tool; NULL: none */
    bool too_many_stacks;    /* this has been said */
};

enum { NO_SECTION = -1 };

/* Each name is compared with all others. */
enum { STACKS_MAX = 1000 };

static const char *const first_sections[QMPI_SECTION_STACKS] = {
    [QMPI_SECTION_MIDDLE] = "",
    [QMPI_SECTION_TOP] = "above",
    [QMPI_SECTION_BOTTOM] = "below",
};

/* ---- What is wrong --------------------------------------------------------------------------- */

/* Takes ownership of `problem`. A file with thousands of invalid lines is not a configuration file,
 * so a few messages suffice. */
static void add_problem(struct reader *reader, char *problem, const char *without)
{
    enum { PRINTED_MAX = 20 };
    struct qmpi_config *config = reader->config;
    if (config->problem_count == PRINTED_MAX) {
        free(problem);
        return;
    }
    config->problems = qmpi_grow(config->problems, config->problem_count, sizeof *config->problems);
    config->problems[config->problem_count++] = (struct qmpi_config_problem){
        .line = reader->line,
        .section = reader->section == NO_SECTION ? QMPI_SECTION_MIDDLE : reader->section,
        .text = qmpi_copy(reader->text),
        .problem = problem,
        .without = without};
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
    size_t folders = 1;
    for (const char *at = list; *at; at++)
        folders += *at == ':';
    const size_t room = strlen(list) + 1 + folders * (strlen(reader->folder) + 1);
    char *all = qmpi_allocate(room, 1), *end = all;
    while (*list) {
        const size_t length = strcspn(list, ":");
        char *folder = qmpi_copy_part(list, length);
        if (length) {
            char *path = resolve(reader, folder);
            const size_t size = strlen(path);
            if (end > all)
                *end++ = ':';
            memcpy(end, path, size);
            end += size;
            free(path);
        }
        free(folder);
        list += length + (list[length] == ':');
    }
    return all;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Returns NULL, or what is wrong. */
static char *set_for_section(struct reader *reader, int setting, const char *value)
{
    struct qmpi_config_section *section = &reader->config->sections[reader->section];
    const char *key = qmpi_config_names[setting].key;
    if (setting != QMPI_SETTING_ON_ERROR)
        return qmpi_message("'%s' cannot be set for a section\n"
                            "hint: move this line above the first section",
                            key);
    if (section->on_error)
        return qmpi_message("'%s' is set twice for this section\nhint: keep one of them", key);
    section->on_error = qmpi_copy(value);
    return NULL;
}

/* Returns NULL, or what is wrong. */
static char *set(struct reader *reader, const char *key, const char *value)
{
    char *problem = NULL;
    const int setting = qmpi_setting_check(key, value, &problem);
    if (setting < 0)
        return problem;
    if (reader->section != QMPI_SECTION_MIDDLE)
        return set_for_section(reader, setting, value);
    int *line = &reader->config->setting_lines[setting];
    if (*line)
        return qmpi_message("'%s' is set twice, first in line %d\nhint: keep one of them", key,
                            *line);
    *line = reader->line;
    reader->config->settings[setting] =
        setting == QMPI_SETTING_TOOL_PATH ? resolve_list(reader, value) : qmpi_copy(value);
    return NULL;
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
        free(value);
        free(key);
    }
    if (problem)
        add_problem(reader, problem, "this line");
}

static void read_tool(struct reader *reader)
{
    const char *end;
    char *problem = NULL;
    struct qmpi_entry *tool = reader->tool = qmpi_tool_list_add(&reader->config->tools);
    tool->line = reader->line;
    tool->section = reader->section;
    tool->text = qmpi_copy(reader->text);
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

/* The tool above stays the one to which indented lines belong. */
static void refuse_option(struct reader *reader)
{
    add_problem(reader,
                qmpi_copy("the name of an option starts with '@', but this line is not indented\n"
                          "hint: indent it, as an option `key = value` of the tool above it"),
                "this line");
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
        add_problem(reader, problem, "this line");
}

static void add_section(struct qmpi_config *config, char *name, int line)
{
    config->sections = qmpi_grow(config->sections, config->section_count, sizeof *config->sections);
    config->sections[config->section_count++] = (struct qmpi_config_section){name, line, NULL};
}

static int find_section(const struct qmpi_config *config, const char *name, bool stack)
{
    int section = stack ? config->section_count - 1 : QMPI_SECTION_STACKS - 1;
    const int first = stack ? QMPI_SECTION_STACKS : 0;
    while (section >= first && strcmp(config->sections[section].name, name) != 0)
        section--;
    return section >= first ? section : NO_SECTION;
}

/* The sections [above] and [below] may each start several times; each stack starts once. */
static void read_section(struct reader *reader)
{
    struct qmpi_config *config = reader->config;
    bool stack;
    char *name, *problem = qmpi_section_header_read(reader->text, &name, &stack);
    reader->tool = NULL;
    reader->section = name ? find_section(config, name, stack) : NO_SECTION;
    if (name && !stack) {
        config->sections[reader->section].line = reader->line;
    } else if (name && reader->section != NO_SECTION) {
        problem = qmpi_message("the stack '%s' is already in line %d\n"
                               "hint: choose another name, or list all its tools there",
                               name, config->sections[reader->section].line);
        reader->section = NO_SECTION;
    } else if (name && config->section_count - QMPI_SECTION_STACKS < STACKS_MAX) {
        reader->section = config->section_count;
        add_section(config, qmpi_copy(name), reader->line);
    } else if (name && !reader->too_many_stacks) {
        problem = qmpi_message("the file contains more than %d stacks\n"
                               "hint: remove this stack and those below it",
                               STACKS_MAX);
        reader->too_many_stacks = true;
    }
    if (problem)
        add_problem(reader, problem, "this section");
    free(name);
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
    if (text == line && *text == '[')
        read_section(reader);
    else if (reader->section == NO_SECTION)
        ; /* said where it starts */
    else if (text != line)
        read_option(reader);
    else if (*text == '@')
        refuse_option(reader);
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
    for (int i = 0; i < QMPI_SECTION_STACKS; i++)
        add_section(config, qmpi_copy(first_sections[i]), 0);
    if (memchr(text, '\0', size)) {
        reader.text = "";
        add_problem(&reader, qmpi_copy("not a text file\nhint: name a configuration file"), "it");
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
    for (int i = 0; i < config->section_count; i++) {
        free(config->sections[i].name);
        free(config->sections[i].on_error);
    }
    free(config->sections);
    for (int i = 0; i < config->problem_count; i++) {
        free(config->problems[i].text);
        free(config->problems[i].problem);
    }
    free(config->problems);
    *config = (struct qmpi_config){.problem_count = 0};
}
