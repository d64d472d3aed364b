/* SPDX-License-Identifier: MIT */
/* Implements the options set.NAME=VALUE: see lifecycle.h. */
#define _GNU_SOURCE
#include "toolkit/toolkit.h"
#include "tools/mpit/lifecycle.h"
#include "tools/mpit/variable.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "set.";
enum { PREFIX = sizeof prefix - 1 };

/* ---- Values ---------------------------------------------------------------------------------- */

/* Returns the items of an enumeration in the form `name (value), …`. Sets `*found` to whether
 * `text` is the name or the value of an item. If so, sets `*chosen` to the value of this item. */
static char *list_items(int tool_id, MPI_T_enum enumtype, const char *text, size_t length,
                        int *chosen, bool *found)
{
    int items = 0, none = 0;
    char *all = qmpi_copy("");
    *found = false;
    CALL_NEXT(tool_id, T_enum_get_info, MPI_T_ENUM_GET_INFO_T, enumtype, &items, NULL, &none);
    for (int i = 0; i < items; i++) {
        char name[128] = "", number[16];
        int value = 0, size = sizeof name;
        if (CALL_NEXT(tool_id, T_enum_get_item, MPI_T_ENUM_GET_ITEM_T, enumtype, i, &value, name,
                      &size) != MPI_SUCCESS)
            continue;
        snprintf(number, sizeof number, "%d", value);
        if ((strlen(name) == length && !memcmp(name, text, length)) ||
            (strlen(number) == length && !memcmp(number, text, length))) {
            *chosen = value;
            *found = true;
        }
        char *longer = qmpi_format("%s%s%s (%d)", all, i ? ", " : "", name, value);
        free(all);
        all = longer;
    }
    return all;
}

/* The functions from here to set_variable return NULL, or a message that the caller frees. */
static char *read_item(int tool_id, const struct variable *variable, const char *text,
                       size_t length, int i)
{
    bool found;
    char *problem = NULL;
    char *all =
        list_items(tool_id, variable->enumtype, text, length, (int *)variable->data + i, &found);
    if (!found)
        problem = qmpi_message("'%.*s' is not one of its values\n"
                               "hint: use one of %s",
                               (int)length, text, all);
    free(all);
    return problem;
}

static char *read_text(struct variable *variable, const char *text)
{
    if (strlen(text) >= (size_t)variable->count)
        return qmpi_message("the text is too long\n"
                            "hint: use at most %d characters",
                            variable->count - 1);
    memcpy(variable->data, text, strlen(text) + 1);
    return NULL;
}

/* Reads as many elements as the variable has, separated by blanks. */
static char *read_elements(int tool_id, struct variable *variable, const char *text)
{
    int given = 0;
    char *problem = NULL;
    const bool is_enum =
        variable->enumtype != MPI_T_ENUM_NULL && variable->type->datatype == MPI_INT;
    text += strspn(text, " ");
    for (; *text && given < variable->count && !problem; given++) {
        const size_t length = strcspn(text, " ");
        if (is_enum)
            problem = read_item(tool_id, variable, text, length, given);
        else if (!variable_parse_element(variable->type, text, length, variable->data, given))
            problem = qmpi_message("'%.*s' is not a valid %s\n"
                                   "hint: give a number that fits the type",
                                   (int)length, text, variable->type->name);
        text += length;
        text += strspn(text, " ");
    }
    if (!problem && (given < variable->count || *text))
        problem = qmpi_message("it takes %d value%s\n"
                               "hint: give this number of values, separated by blanks",
                               variable->count, variable->count == 1 ? "" : "s");
    return problem;
}

/* ---- One variable ---------------------------------------------------------------------------- */

static char *describe_refusal(int result)
{
    if (result == MPI_T_ERR_CVAR_SET_NEVER)
        return qmpi_copy("it is read-only\n"
                         "hint: remove this setting");
    if (result == MPI_T_ERR_CVAR_SET_NOT_NOW)
        return qmpi_copy("it cannot be set before MPI is initialized\n"
                         "hint: remove this setting");
    if (result == MPI_T_ERR_INVALID)
        return qmpi_copy("its owner rejects this value\n"
                         "hint: give another value");
    return qmpi_message("its owner rejects the setting (error %d)\n"
                        "hint: give another value, or remove this setting",
                        result);
}

static char *write_value(int tool_id, struct variable *variable, const char *text)
{
    MPI_T_cvar_handle handle;
    int result = CALL_NEXT(tool_id, T_cvar_handle_alloc, MPI_T_CVAR_HANDLE_ALLOC_T, variable->index,
                           NULL, &handle, &variable->count);
    if (result != MPI_SUCCESS)
        return describe_refusal(result);
    variable->data = variable_make_room(variable->type, variable->count);
    char *problem = variable->type->kind == VALUE_TEXT ? read_text(variable, text)
                                                       : read_elements(tool_id, variable, text);
    if (!problem) {
        result = CALL_NEXT(tool_id, T_cvar_write, MPI_T_CVAR_WRITE_T, handle, variable->data);
        problem = result == MPI_SUCCESS ? NULL : describe_refusal(result);
    }
    CALL_NEXT(tool_id, T_cvar_handle_free, MPI_T_CVAR_HANDLE_FREE_T, &handle);
    return problem;
}

static char *set_variable(int tool_id, const char *name, const char *text)
{
    int index = -1;
    struct variable variable;
    char *problem = NULL;
    if (CALL_NEXT(tool_id, T_cvar_get_index, MPI_T_CVAR_GET_INDEX_T, name, &index) != MPI_SUCCESS ||
        !variable_read_cvar_info(tool_id, index, &variable))
        return qmpi_copy("unknown control variable\n"
                         "hint: list the variables with `qmpi vars -t TOOLS`");
    if (variable.scope == MPI_T_SCOPE_CONSTANT || variable.scope == MPI_T_SCOPE_READONLY)
        problem = qmpi_message("it is read-only (scope %s)\n"
                               "hint: remove this setting",
                               variable_scope_name(variable.scope));
    else if (variable.bind != MPI_T_BIND_NO_OBJECT)
        problem = qmpi_message("it is bound to MPI objects (%s), and none exist yet\n"
                               "hint: remove this setting",
                               variable_binding_name(variable.bind));
    else if (!variable.type)
        problem = qmpi_copy("its datatype is not one of MPI_T's\n"
                            "hint: remove this setting");
    else
        problem = write_value(tool_id, &variable, text);
    variable_clear(&variable);
    return problem;
}

/* ---- All variables --------------------------------------------------------------------------- */

static void report_problem(int tool_id, const char *key, const char *value, const char *problem)
{
    int skips = 0;
    QMPIX_Tool_get_skip_errors(tool_id, &skips);
    if (qmpi_launcher_reports()) {
        const char *hint = strstr(problem, "\nhint: ");
        char *shown = qmpi_message_shorten(value);
        qmpi_printf("mpit (layer %d): %s=%s: %.*s%-s%s%-s", tool_id, key, shown,
                    hint ? (int)(hint - problem) : (int)strlen(problem), problem,
                    hint ? "\n  " : "", hint ? hint + 1 : "",
                    skips ? "\n  the run continues without this setting" : "");
        free(shown);
    }
    if (!skips)
        _exit(2); /* not exit: exit handlers must not report on a run that did not take place */
}

static bool next_setting(int tool_id, int *at, const char **key, const char **value)
{
    while (QMPIX_Tool_get_given_option(tool_id, (*at)++, key, value) == MPI_SUCCESS) {
        if (!strncmp(*key, prefix, PREFIX))
            return true;
    }
    return false;
}

void mpit_apply_settings(int tool_id)
{
    const char *key, *value;
    struct qmpi_value_numbers numbers;
    qmpi_value_begin_numbers(&numbers);
    for (int at = 0; next_setting(tool_id, &at, &key, &value);) {
        char *problem = set_variable(tool_id, key + PREFIX, value);
        if (problem)
            report_problem(tool_id, key, value, problem);
        free(problem);
    }
    qmpi_value_end_numbers(&numbers);
}
