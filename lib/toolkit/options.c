/* SPDX-License-Identifier: MIT */
/* See options.h. */
#include "toolkit/options.h"

#include "toolkit/output.h"
#include "util/util.h"

#include <qmpi/observer.h>
#include <qmpi/qmpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tool_option_fail(int tool_id, const char *key, const char *value, const char *hint)
{
    char *shown = qmpi_message_shorten(value);
    char *message = qmpi_message("invalid value %s=%s\n"
                                 "hint: %s",
                                 key, shown, hint);
    QMPIX_Tool_fail(tool_id, message);
    free(message);
    free(shown);
}

static const char *find_given(int tool_id, const char *key)
{
    const char *value = NULL;
    return QMPIX_Tool_get_option(tool_id, key, &value) == MPI_SUCCESS ? value : NULL;
}

static bool refuse_value(int tool_id, const char *key, const char *form)
{
    char *hint = qmpi_format("give %s", form);
    tool_option_fail(tool_id, key, find_given(tool_id, key), hint);
    free(hint);
    return false;
}

/* A size or a time. */
struct amount {
    const char *form; /* QMPI_VALUE_SIZE or QMPI_VALUE_TIME */
    bool (*read)(const char *text, uint64_t *number);
    const char *limits; /* see options.h */
    uint64_t least, most;
};

static bool read_amount(const struct amount *amount, const char *text, uint64_t *number)
{
    return amount->read(text, number) && *number >= amount->least && *number <= amount->most;
}

/* The limits come before the examples, as in "a size of at least 4K, such as 64K or 2G". Examples
 * that exceed the limits are left out. */
static bool refuse_amount(int tool_id, const char *key, const struct amount *amount)
{
    enum { MOST = 8 };
    static const char mark[] = " such as ";
    const char *examples = strstr(amount->form, mark), *kept[MOST];
    char *words = qmpi_copy(examples + sizeof mark - 1), *rest = NULL;
    char *text = qmpi_format("%.*s%s%s", (int)(examples - amount->form), amount->form,
                             amount->limits ? " " : "", amount->limits ? amount->limits : "");
    uint64_t number;
    int count = 0;
    for (char *word = strtok_r(words, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        if (count < MOST && read_amount(amount, word, &number))
            kept[count++] = word; /* not the word "or", which is no amount */
    }
    for (int i = 0; i < count; i++) {
        char *longer = qmpi_format("%s%s%s%s", text, !i && amount->limits ? "," : "",
                                   !i              ? mark
                                   : i < count - 1 ? ", "
                                                   : " or ",
                                   kept[i]);
        free(text);
        text = longer;
    }
    refuse_value(tool_id, key, text);
    free(text);
    free(words);
    return false;
}

static bool find_amount(int tool_id, const char *key, const struct amount *amount, uint64_t *number)
{
    const char *value = find_given(tool_id, key);
    uint64_t given;
    if (!value)
        return true;
    if (!read_amount(amount, value, &given))
        return refuse_amount(tool_id, key, amount);
    *number = given;
    return true;
}

bool tool_option_whole(int tool_id, const char *key, int least, int most, int *number)
{
    const char *value = find_given(tool_id, key);
    uint64_t whole = 0;
    char form[64];
    if (!value)
        return true;
    if (qmpi_value_whole(value, (uint64_t)least, (uint64_t)most, &whole)) {
        *number = (int)whole;
        return true;
    }
    snprintf(form, sizeof form, "a whole number from %d to %d", least, most);
    return refuse_value(tool_id, key, form);
}

bool tool_option_percent(int tool_id, const char *key, int *percent)
{
    const char *value = find_given(tool_id, key);
    return !value || qmpi_value_whole_percent(value, percent) ||
           refuse_value(tool_id, key, QMPI_VALUE_PERCENT);
}

bool tool_option_size(int tool_id, const char *key, const char *limits, uint64_t least,
                      uint64_t most, uint64_t *bytes)
{
    const struct amount amount = {QMPI_VALUE_SIZE, qmpi_value_size, limits, least, most};
    return find_amount(tool_id, key, &amount, bytes);
}

bool tool_option_time(int tool_id, const char *key, const char *limits, uint64_t least,
                      uint64_t most, uint64_t *nanoseconds)
{
    const struct amount amount = {QMPI_VALUE_TIME, qmpi_value_time, limits, least, most};
    return find_amount(tool_id, key, &amount, nanoseconds);
}

bool tool_option_set(int tool_id, const char *key, struct qmpi_value_set *set)
{
    const char *value = find_given(tool_id, key);
    return !value || qmpi_value_set_read(value, set) || refuse_value(tool_id, key, QMPI_VALUE_SET);
}

bool tool_option_boolean(int tool_id, const char *key, bool *yes)
{
    const char *value = find_given(tool_id, key);
    return !value || qmpi_value_boolean(value, yes) || refuse_value(tool_id, key, QMPI_VALUE_YES);
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

bool tool_option_signal(int tool_id, const char *key, int *number)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"SIGUSR1", SIGUSR1},
                   {"SIGUSR2", SIGUSR2},
                   {"SIGHUP", SIGHUP},
                   {"SIGURG", SIGURG},
                   {"SIGWINCH", SIGWINCH}};
    const char *value;
    if (QMPIX_Tool_get_option(tool_id, key, &value) != MPI_SUCCESS)
        return true;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (!strcmp(value, signals[i].name)) {
            *number = signals[i].number;
            return true;
        }
    }
    tool_option_fail(tool_id, key, value, "give SIGUSR1, SIGUSR2, SIGHUP, SIGURG or SIGWINCH");
    return false;
}

bool tool_option_file(int tool_id, const char *key, const char **pattern)
{
    if (QMPIX_Tool_get_option(tool_id, key, pattern) != MPI_SUCCESS)
        return true;
    char *name = **pattern ? tool_output_name(*pattern, tool_id, 0) : NULL;
    if (!name)
        tool_option_fail(tool_id, key, *pattern, "give a file name; " TOOL_OUTPUT_NAME_HINT);
    free(name);
    return name != NULL;
}

static bool names_the_same(int other, const char *key, const char *mine)
{
    const char *pattern;
    if (QMPIX_Tool_get_option(other, key, &pattern) != MPI_SUCCESS)
        return false;
    char *its = tool_output_name(pattern, other, 0);
    const bool same = its && !strcmp(mine, its);
    free(its);
    return same;
}

bool tool_option_file_is_taken(int tool_id, const char *key, const char *pattern)
{
    int count = 0, taken = 0;
    char *mine = pattern ? tool_output_name(pattern, tool_id, 0) : NULL;
    const bool can_be = mine && !tool_output_name_is_special(mine);
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
    char *shown = qmpi_message_shorten(pattern);
    char *message = qmpi_message("%s=%s: layer %d (%.100s) writes the same file\nhint: put %%t "
                                 "(the number of the layer) into the names",
                                 key, shown, taken, name);
    QMPIX_Tool_fail(tool_id, message);
    free(message);
    free(shown);
    return true;
}

/* ---- Lists of functions ---------------------------------------------------------------------- */

static bool describe_function(int number, const char **name, unsigned *group)
{
    const QMPIX_Function *function;
    if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) != MPI_SUCCESS)
        return false;
    *name = function->name;
    *group = function->group;
    return true;
}

char *tool_option_functions(const char *list, unsigned char listed[MPI_LAST_FUNC])
{
    return qmpi_value_read_functions(list, MPI_LAST_FUNC, describe_function, listed);
}
