/* SPDX-License-Identifier: MIT */
/* See parse.h. The file is read line by line. A line at the margin is a section, a setting or a
 * tool; an indented line is an option. */
#include "config/parse.h"

#include "util/util.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- Settings -------------------------------------------------------------------------------- */

const struct qmpi_config_name qmpi_config_names[QMPI_CONFIG_SETTINGS] = {
    [QMPI_SETTING_TOOL_PATH] = {"tool-path", "QMPI_TOOL_PATH"},
    [QMPI_SETTING_ON_ERROR] = {"on-error", "QMPI_ON_ERROR"},
    [QMPI_SETTING_DEBUG] = {"debug", "QMPI_DEBUG"},
    [QMPI_SETTING_INTERNAL] = {"internal", "QMPI_INTERNAL"},
    [QMPI_SETTING_CLOCK] = {"clock", "QMPI_CLOCK"},
    [QMPI_SETTING_RANK_TIMEOUT] = {"rank-timeout", "QMPI_RANK_TIMEOUT"},
};

static const char *key_of(const void *data, int index)
{
    (void)data;
    return index < QMPI_CONFIG_SETTINGS ? qmpi_config_names[index].key : NULL;
}

static char *refuse_key(const char *key)
{
    char *list = qmpi_copy(""), *shown = qmpi_message_shorten(key);
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        char *longer = qmpi_format("%s%s%s", list, i ? ", " : "", qmpi_config_names[i].key);
        free(list);
        list = longer;
    }
    const char *similar = qmpi_text_suggest(key, key_of, NULL);
    char *problem = qmpi_message("unknown setting '%s'; the settings are %s\n"
                                 "hint: %s%s%s; write a tool on a line of its own, with its "
                                 "options indented below it",
                                 shown, list, similar ? "did you mean '" : "correct the name",
                                 similar ? similar : "", similar ? "'?" : "");
    free(shown);
    free(list);
    return problem;
}

/* Returns the problem with a list of topics; NULL: all topics are known. */
static char *refuse_topics(const char *key, const char *list)
{
    while (*list) {
        const size_t length = strcspn(list, ", ");
        if (length && !qmpi_message_knows_topic(list, length)) {
            char *topic = qmpi_copy_part(list, length), *shown = qmpi_message_shorten(topic);
            char *problem = qmpi_message(
                "invalid value for '%s': unknown topic '%s'\n" QMPI_TOPICS_HINT, key, shown);
            free(shown);
            free(topic);
            return problem;
        }
        list += length + (list[length] != '\0');
    }
    return NULL;
}

bool qmpi_config_read_seconds(const char *value, double *seconds)
{
    uint64_t nanoseconds;
    if (!qmpi_value_time(value, &nanoseconds) || nanoseconds == 0)
        return false;
    *seconds = (double)nanoseconds / 1e9;
    return true;
}

static bool is_on_error(const char *value)
{
    return !strcmp(value, "stop") || !strcmp(value, "skip");
}

static bool is_boolean_value(const char *value)
{
    bool yes;
    return qmpi_value_boolean(value, &yes);
}

static bool is_clock(const char *value)
{
    return !strcmp(value, "tsc") || !strcmp(value, "monotonic");
}

static bool is_timeout(const char *value)
{
    double seconds;
    return qmpi_config_read_seconds(value, &seconds);
}

/* The check of each setting whose values are restricted. The topics of the setting debug are
 * checked by refuse_topics instead. */
static const struct {
    bool (*is_valid)(const char *value);
    const char *hint;
} forms[QMPI_CONFIG_SETTINGS] = {
    [QMPI_SETTING_ON_ERROR] = {is_on_error, "set it to stop or skip"},
    [QMPI_SETTING_INTERNAL] = {is_boolean_value, "set it to " QMPI_VALUE_YES},
    [QMPI_SETTING_CLOCK] = {is_clock, "set it to tsc or monotonic"},
    [QMPI_SETTING_RANK_TIMEOUT] = {is_timeout, QMPI_SECONDS_HINT},
};

int qmpi_config_setting_of(const char *variable)
{
    int setting = QMPI_CONFIG_SETTINGS - 1;
    while (setting >= 0 && strcmp(qmpi_config_names[setting].variable, variable) != 0)
        setting--;
    return setting;
}

char *qmpi_config_refuse_value(int setting, const char *name, const char *value)
{
    if (setting == QMPI_SETTING_DEBUG)
        return refuse_topics(name, value);
    if (!forms[setting].is_valid || forms[setting].is_valid(value))
        return NULL;
    char *shown = qmpi_message_shorten(value);
    char *problem =
        qmpi_message("invalid value for '%s': '%s'\nhint: %s", name, shown, forms[setting].hint);
    free(shown);
    return problem;
}

/* Returns the number of a setting; -1: the line is invalid, and *problem is set. */
static int check_setting(const char *key, const char *value, char **problem)
{
    int setting = QMPI_CONFIG_SETTINGS - 1;
    while (setting >= 0 && strcmp(qmpi_config_names[setting].key, key) != 0)
        setting--;
    *problem = setting < 0 ? refuse_key(key) : qmpi_config_refuse_value(setting, key, value);
    return *problem ? -1 : setting;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static const char *skip_blanks(const char *text)
{
    while (is_blank(*text))
        text++;
    return text;
}

/* Reads a word between quotes; `text` begins with the first quote. Sets *end to the character after
 * the second one. On failure, sets *problem and returns NULL. */
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

/* Reads a word up to a comment, the end of `text` or `stop` (0: no such character), without the
 * blanks around it. Sets *end to the place of `stop` or to the end of `text`. On failure, sets
 * *problem and returns NULL. */
static char *read_word(const char *text, char stop, const char **end, char **problem)
{
    text = skip_blanks(text);
    if (*text == '"') {
        char *word = read_quoted(text, end, problem);
        if (!word)
            return NULL;
        const char *behind = skip_blanks(*end);
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
        if (text[length] == '#' && (!length || is_blank(text[length - 1]))) {
            *end = text + strlen(text);
            return qmpi_copy_part(text, used);
        }
        if (!is_blank(text[length]))
            used = length + 1;
    }
    *end = text + length;
    return qmpi_copy_part(text, used);
}

/* Reads `key = value`; the caller frees *key and *value. If `text` has another form, returns false
 * and sets *problem; *key and *value are then invalid. */
static bool read_pair(const char *text, char **key, char **value, char **problem)
{
    const char *end;
    *key = read_word(text, '=', &end, problem);
    if (!*key)
        return false;
    if (*end == '=' && **key) {
        *value = read_word(end + 1, '\0', &end, problem);
        if (*value)
            return true;
    } else {
        *problem = qmpi_copy("not of the form key = value\n"
                             "hint: write the option's name, `=` and its value");
    }
    free(*key);
    return false;
}

/* ---- Headings of sections -------------------------------------------------------------------- */

/* Returns the text between the brackets, without blanks around it; the caller frees it. On failure,
 * sets *problem and returns NULL. */
static char *read_brackets(const char *text, char **problem)
{
    const char *end;
    char *word = read_word(text, '\0', &end, problem);
    if (!word)
        return NULL;
    size_t length = strlen(word);
    if (word[length - 1] != ']') {
        free(word);
        *problem = qmpi_copy("the closing bracket is missing\n"
                             "hint: write [above], [below] or [stack NAME] on a line of its own");
        return NULL;
    }
    const char *name = skip_blanks(word + 1);
    length--;
    while (word + length > name && is_blank(word[length - 1]))
        length--;
    char *inside = qmpi_copy_part(name, (size_t)(word + length - name));
    free(word);
    return inside;
}

/* Returns why a stack cannot have this name; NULL: it can. A name is also written in QMPI_TOOLS and
 * in patterns, so it must not contain a character that has a meaning there. */
static char *check_stack_name(const char *name)
{
    if (*name && *name != '~' && !name[strcspn(name, "/:,=@[]\\\"*?# \t\r\v\f")])
        return NULL;
    char *shown = qmpi_message_shorten(name);
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
    char *shown = qmpi_message_shorten(name);
    const char *similar = qmpi_text_suggest_word(name, names);
    char *problem = qmpi_message(
        "unknown section '%s'\nhint: %s%s%s", shown, similar ? "did you mean [" : "",
        similar ? similar : "write [above], [below] or [stack NAME]", similar ? "]?" : "");
    free(shown);
    return problem;
}

/* Reads a line that starts with a bracket. Sets *name to "above", "below" or the name of the stack,
 * and *stack to whether the section is a stack. On failure, returns the problem and sets *name to
 * NULL; otherwise returns NULL. */
static char *read_section_header(const char *text, char **name, bool *stack)
{
    static const char word[] = "stack";
    const size_t length = sizeof word - 1;
    char *problem = NULL, *inside = read_brackets(text, &problem);
    *name = NULL;
    if (!inside)
        return problem;
    *stack = !strncmp(inside, word, length) && (!inside[length] || is_blank(inside[length]));
    char *found = qmpi_copy(*stack ? skip_blanks(inside + length) : inside);
    free(inside);
    problem = *stack ? check_stack_name(found) : check_section(found);
    if (problem)
        free(found);
    else
        *name = found;
    return problem;
}

/* ---- The file -------------------------------------------------------------------------------- */

struct reader {
    struct qmpi_config *config;
    const char *folder;
    int line;                     /* the number of the current line, from 1 */
    char *text;                   /* the current line, without blanks around it */
    int section;                  /* the section of the line; NO_SECTION: an invalid one, whose
                                     lines are skipped */
    struct qmpi_tool_entry *tool; /* the tool to which indented lines belong; NULL: none, as after a
                                     setting */
    bool too_many_stacks;         /* the problem of too many stacks has been added */
};

enum { NO_SECTION = -1 };

/* A limit, because each name is compared with all others. */
enum { STACKS_MAX = 1000 };

static const char *const first_sections[QMPI_SECTION_STACKS] = {
    [QMPI_SECTION_MIDDLE] = "",
    [QMPI_SECTION_TOP] = "above",
    [QMPI_SECTION_BOTTOM] = "below",
};

/* ---- Problems -------------------------------------------------------------------------------- */

/* Takes ownership of `problem`; `without` says what is ignored because of it. A file with thousands
 * of invalid lines is not a configuration file, so a few messages suffice. */
static void add_problem(struct reader *reader, char *problem, const char *without)
{
    enum { PRINTED_MAX = 20 };
    struct qmpi_config *config = reader->config;
    if (config->problem_count == PRINTED_MAX) {
        free(problem);
        return;
    }
    config->problems =
        qmpi_memory_grow(config->problems, config->problem_count, sizeof *config->problems);
    config->problems[config->problem_count++] = (struct qmpi_config_problem){
        .line = reader->line,
        .section = reader->section == NO_SECTION ? QMPI_SECTION_MIDDLE : reader->section,
        .text = qmpi_copy(reader->text),
        .problem = problem,
        .without = without};
}

/* Records a problem with the lines of a tool. Only the first problem of each tool is kept. */
static void spoil_tool(struct reader *reader, struct qmpi_tool_entry *tool, char *problem)
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

/* Resolves each directory in a list that is separated by colons. */
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

/* Returns the problem; NULL: none. */
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

/* Returns the problem; NULL: none. */
static char *add_setting(struct reader *reader, const char *key, const char *value)
{
    char *problem = NULL;
    const int setting = check_setting(key, value, &problem);
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

/* Whether a line is a setting. The path of a tool may contain an equals sign, but the name of a
 * setting contains no slash. */
static bool is_setting(const char *text)
{
    const char *equals = strchr(text, '=');
    return equals && *text != '"' && strcspn(text, "/#") > (size_t)(equals - text);
}

static void read_setting(struct reader *reader)
{
    char *key, *value, *problem = NULL;
    reader->tool = NULL;
    if (read_pair(reader->text, &key, &value, &problem)) {
        problem = add_setting(reader, key, value);
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
    struct qmpi_tool_entry *tool = reader->tool = qmpi_tool_list_add(&reader->config->tools);
    tool->line = reader->line;
    tool->section = reader->section;
    tool->text = qmpi_copy(reader->text);
    char *name = read_word(reader->text, '\0', &end, &problem);
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

/* Refuses an option at the margin. Indented lines that follow still belong to the tool above it. */
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
    else if (read_pair(reader->text, &key, &value, &problem))
        problem = qmpi_tool_entry_add_option(reader->tool, key, value);
    if (problem && reader->tool)
        spoil_tool(reader, reader->tool, problem);
    else if (problem)
        add_problem(reader, problem, "this line");
}

static void add_section(struct qmpi_config *config, char *name, int line)
{
    config->sections =
        qmpi_memory_grow(config->sections, config->section_count, sizeof *config->sections);
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
    char *name, *problem = read_section_header(reader->text, &name, &stack);
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
    const char *text = skip_blanks(line);
    if (!*text || *text == '#')
        return;
    size_t length = strlen(text);
    while (is_blank(text[length - 1]))
        length--;
    reader->text = qmpi_copy_part(text, length);
    if (text == line && *text == '[')
        read_section(reader);
    else if (reader->section == NO_SECTION)
        ; /* the problem of the section has been added */
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
    static const char mark[] = "\xef\xbb\xbf"; /* some editors write this byte order mark */
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
