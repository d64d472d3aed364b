/* SPDX-License-Identifier: MIT */
/* See tool_list.h. */
#include "config/tool_list.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* Returns the length of `text` up to the first unescaped `separator`, or to its end. */
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

/* Returns NULL if each backslash is followed by `:`, `,`, `=` or `\`; otherwise returns the
 * problem. */
static char *check_escapes(const char *text)
{
    for (; *text; text++) {
        if (*text != '\\')
            continue;
        text++;
        if (!*text)
            return qmpi_copy("the entry ends with a backslash that escapes nothing\n"
                             "hint: remove it, or write \\\\ for a backslash");
        if (!strchr(":,=\\", *text))
            return qmpi_message("'\\%c' is not an escape sequence\n"
                                "hint: escape only : , = and \\; write \\\\ for a backslash",
                                *text);
    }
    return NULL;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

struct qmpi_tool_entry *qmpi_tool_list_add(struct qmpi_tool_list *list)
{
    list->entries = qmpi_memory_grow(list->entries, list->count, sizeof *list->entries);
    struct qmpi_tool_entry *entry = &list->entries[list->count++];
    *entry = (struct qmpi_tool_entry){.position = list->count};
    return entry;
}

char *qmpi_tool_entry_source(const struct qmpi_tool_entry *entry)
{
    if (!entry->position)
        return qmpi_copy("LD_PRELOAD");
    return qmpi_format("%s, %s %d%s%s%s%s%s", entry->source, entry->line ? "line" : "entry",
                       entry->line ? entry->line : entry->position, entry->part ? ", [" : "",
                       entry->part ? entry->part : "", entry->part ? "]" : "",
                       entry->stack ? ", stack " : "", entry->stack ? entry->stack : "");
}

static char *copy_text(const char *text)
{
    return text ? qmpi_copy(text) : NULL;
}

struct qmpi_tool_entry *qmpi_tool_list_add_copy(struct qmpi_tool_list *list,
                                                const struct qmpi_tool_entry *entry)
{
    struct qmpi_tool_entry *same = qmpi_tool_list_add(list);
    *same = *entry;
    same->text = copy_text(entry->text);
    same->name = copy_text(entry->name);
    same->problem = copy_text(entry->problem);
    same->options = NULL;
    for (int i = 0; i < entry->option_count; i++) {
        same->options = qmpi_memory_grow(same->options, i, sizeof *same->options);
        same->options[i] = (struct qmpi_tool_option){qmpi_copy(entry->options[i].key),
                                                     qmpi_copy(entry->options[i].value)};
    }
    for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++)
        same->reserved[i] = copy_text(entry->reserved[i]);
    return same;
}

void qmpi_tool_list_move(struct qmpi_tool_list *to, const struct qmpi_tool_entry *entry)
{
    *qmpi_tool_list_add(to) = *entry;
}

/* ---- Options for qmpi ------------------------------------------------------------------------ */

static bool is_boolean_value(const char *value)
{
    bool yes;
    return qmpi_value_boolean(value, &yes);
}

static bool is_set_value(const char *value)
{
    struct qmpi_value_set set;
    const bool is = qmpi_value_set_read(value, &set);
    free(set.ranges);
    return is;
}

/* Whether a list has an item that is not empty. */
static bool is_list_value(const char *value)
{
    return value[strspn(value, "; ")] != '\0';
}

static bool is_variable_value(const char *value)
{
    return *value &&
           !value[strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_")] &&
           !(*value >= '0' && *value <= '9');
}

static const struct {
    const char *name;
    bool (*is_valid)(const char *value);
    const char *hint;
    bool is_condition;
} reserved_options[QMPI_RESERVED_OPTIONS] = {
    [QMPI_RESERVED_PRELOAD] = {"@preload", is_boolean_value, "give " QMPI_VALUE_YES, false},
    [QMPI_RESERVED_REQUIRED] = {"@required", is_boolean_value, "give " QMPI_VALUE_YES, false},
    [QMPI_RESERVED_FORCE] = {"@force", is_boolean_value, "give " QMPI_VALUE_YES, false},
    [QMPI_RESERVED_OPTIONAL] = {"@optional", is_boolean_value, "give " QMPI_VALUE_YES, false},
    [QMPI_RESERVED_FORTRAN] = {"@fortran", is_boolean_value, "give " QMPI_VALUE_YES, false},
    [QMPI_RESERVED_RANKS] = {"@ranks", is_set_value, "give " QMPI_VALUE_SET, true},
    [QMPI_RESERVED_NODES] = {"@nodes", is_list_value,
                             "give names of nodes, or patterns, separated by ;", true},
    [QMPI_RESERVED_PROGRAM] = {"@program", is_list_value,
                               "give names of programs, or patterns, separated by ;", true},
    [QMPI_RESERVED_IF_ENV] = {"@if-env", is_variable_value,
                              "give the name of an environment variable", true},
    [QMPI_RESERVED_ENABLED] = {"@enabled", is_boolean_value, "give " QMPI_VALUE_YES, true},
    [QMPI_RESERVED_FUNCTIONS] = {"@functions", is_list_value,
                                 "give functions, patterns or groups, separated by ;", true},
};

const char *qmpi_tool_reserved_name(enum qmpi_tool_reserved option)
{
    return reserved_options[option].name;
}

bool qmpi_tool_reserved_is_condition(enum qmpi_tool_reserved option)
{
    return reserved_options[option].is_condition;
}

static const char *reserved_name_at(const void *data, int index)
{
    (void)data;
    return index < QMPI_RESERVED_OPTIONS ? reserved_options[index].name : NULL;
}

static bool takes_value(int number, const char *value)
{
    return reserved_options[number].is_valid(value) &&
           !(reserved_options[number].is_condition && strstr(value, QMPI_RESERVED_SEPARATOR));
}

static char *refuse_reserved_value(int number, const char *value)
{
    char *shown = qmpi_message_shorten(value);
    char *problem =
        qmpi_message("invalid value for option '%s': '%s'\n"
                     "hint: %s",
                     reserved_options[number].name, shown, reserved_options[number].hint);
    free(shown);
    return problem;
}

static char *refuse_reserved_name(const char *key)
{
    char *shown = qmpi_message_shorten(key), *known = qmpi_copy(reserved_options[0].name);
    for (int i = 1; i < QMPI_RESERVED_OPTIONS; i++) {
        char *longer = qmpi_format("%s, %s", known, reserved_options[i].name);
        free(known);
        known = longer;
    }
    const char *similar = qmpi_text_suggest(key, reserved_name_at, NULL);
    char *problem =
        qmpi_message("unknown option '%s'\n"
                     "hint: %s%s%suse one of qmpi's own options, which start with @: %s",
                     shown, similar ? "did you mean '" : "", similar ? similar : "",
                     similar ? "'? Else " : "", known);
    free(shown);
    free(known);
    return problem;
}

/* Returns a valid value in the form in which it is stored: "yes" or "no" if the option is boolean,
 * otherwise unchanged. */
static const char *reserved_word(enum qmpi_tool_reserved option, const char *value)
{
    if (reserved_options[option].is_valid != is_boolean_value)
        return value;
    return qmpi_value_is_yes(value) ? "yes" : "no";
}

/* Returns the number of the option of this name, or -1 if it is unknown. */
static int number_of_reserved(const char *key)
{
    int i = 0;
    while (i < QMPI_RESERVED_OPTIONS && strcmp(reserved_options[i].name, key) != 0)
        i++;
    return i < QMPI_RESERVED_OPTIONS ? i : -1;
}

/*
 * Returns the number of the option of this name. If the option is unknown or the value is invalid,
 * returns a negative number and sets *problem to a message with a hint, which the caller frees.
 */
static int find_reserved(const char *key, const char *value, char **problem)
{
    const int number = number_of_reserved(key);
    if (number >= 0 && takes_value(number, value))
        return number;
    *problem = number < 0 ? refuse_reserved_name(key) : refuse_reserved_value(number, value);
    return -1;
}

/* ---- The options of an entry ----------------------------------------------------------------- */

static bool has_option(const struct qmpi_tool_entry *entry, const char *key)
{
    int i = 0;
    while (i < entry->option_count && strcmp(entry->options[i].key, key) != 0)
        i++;
    return i < entry->option_count;
}

/* Limits of one entry. Without them, the time could grow with the square of the length: each key is
 * compared with all others, and each value of a condition is appended to a copy of those before
 * it. */
enum { OPTIONS_MAX = 1000, CONDITION_MAX = 16384 /* bytes of the values of one condition */ };

static char *given_twice(const char *key)
{
    char *shown = qmpi_message_shorten(key);
    char *problem = qmpi_message("option '%s' is given twice\nhint: keep one of them", shown);
    free(shown);
    return problem;
}

void qmpi_tool_entry_add_reserved(struct qmpi_tool_entry *entry, enum qmpi_tool_reserved option,
                                  const char *value)
{
    char *before = entry->reserved[option];
    entry->reserved[option] =
        before ? qmpi_format("%s" QMPI_RESERVED_SEPARATOR "%s", before, value) : qmpi_copy(value);
    free(before);
}

char *qmpi_tool_entry_add_option(struct qmpi_tool_entry *entry, char *key, char *value)
{
    char *problem = NULL;
    if (*key == '@') {
        const int number = find_reserved(key, value, &problem);
        const enum qmpi_tool_reserved reserved = (enum qmpi_tool_reserved)number;
        if (number >= 0 && entry->reserved[number] && !qmpi_tool_reserved_is_condition(reserved))
            problem = given_twice(key);
        else if (number >= 0 && entry->reserved[number] &&
                 strlen(entry->reserved[number]) + strlen(value) > CONDITION_MAX)
            problem = qmpi_message("the option '%s' is given too often\n"
                                   "hint: give fewer and shorter values, at most %d bytes in all",
                                   key, CONDITION_MAX);
        else if (number >= 0)
            qmpi_tool_entry_add_reserved(entry, reserved, reserved_word(reserved, value));
    } else if (has_option(entry, key)) {
        problem = given_twice(key);
    } else if (entry->option_count == OPTIONS_MAX) {
        problem = qmpi_message("more than %d options\nhint: give fewer options", OPTIONS_MAX);
    } else {
        entry->options =
            qmpi_memory_grow(entry->options, entry->option_count, sizeof *entry->options);
        entry->options[entry->option_count++] = (struct qmpi_tool_option){key, value};
        return NULL;
    }
    free(key);
    free(value);
    return problem;
}

/* Returns the message for an option that has no key or no value. */
static char *refuse_form(const char *option, bool has_key)
{
    const int number = *option == '@' ? number_of_reserved(option) : QMPI_RESERVED_OPTIONS;
    if (number < 0)
        return refuse_reserved_name(option);
    char *shown = qmpi_message_shorten(option);
    char *problem =
        number < QMPI_RESERVED_OPTIONS && reserved_options[number].is_valid != is_boolean_value
            ? qmpi_message("option '%s' is not of the form key=value\n"
                           "hint: write %s=VALUE, and %s",
                           shown, shown, reserved_options[number].hint)
            : qmpi_message("option '%s' is not of the form key=value\n"
                           "hint: write %s=yes to switch something on, and \\, for a comma inside "
                           "a value",
                           shown, has_key ? shown : "key");
    free(shown);
    return problem;
}

static char *parse_option(struct qmpi_tool_entry *entry, const char *text, size_t length)
{
    const size_t key_length = length_to(text, length, '=');
    if (key_length == length || key_length == 0) {
        char *option = qmpi_copy_part(text, length);
        char *problem = refuse_form(option, key_length > 0);
        free(option);
        return problem;
    }
    return qmpi_tool_entry_add_option(entry, unescape(text, key_length),
                                      unescape(text + key_length + 1, length - key_length - 1));
}

static void parse_entry(struct qmpi_tool_entry *entry)
{
    const char *text = entry->text;
    size_t left = strlen(text);
    entry->problem = check_escapes(text);
    if (entry->problem)
        return;
    const size_t name_length = length_to(text, left, ',');
    if (!name_length) {
        entry->problem = qmpi_copy("the entry has options but no name\nhint: write NAME,key=value");
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
    size_t left = strlen(text);
    for (;;) {
        const size_t length = length_to(text, left, ':');
        if (length) {
            struct qmpi_tool_entry *entry = qmpi_tool_list_add(list);
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
        struct qmpi_tool_entry *entry = &list->entries[i];
        for (int k = 0; k < entry->option_count; k++) {
            free(entry->options[k].key);
            free(entry->options[k].value);
        }
        for (int k = 0; k < QMPI_RESERVED_OPTIONS; k++)
            free(entry->reserved[k]);
        free(entry->options);
        free(entry->text);
        free(entry->name);
        free(entry->problem);
    }
    free(list->entries);
    *list = (struct qmpi_tool_list){NULL, 0};
}
