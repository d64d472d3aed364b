/* SPDX-License-Identifier: MIT */
/* See catalogue.h. */
#define _GNU_SOURCE
#include "tools/mpit/catalogue.h"

#include "toolkit/toolkit.h"
#include "tools/mpit/variable.h"
#include "util/util.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Labels ---------------------------------------------------------------------------------- */

/* Finds the name of the value of an integer variable in its enumeration. */
static void find_label(int tool_id, struct variable *variable)
{
    int items = 0, length = 0, number;
    if (!variable->data || variable->enumtype == MPI_T_ENUM_NULL ||
        variable->type->datatype != MPI_INT || variable->count != 1)
        return;
    memcpy(&number, variable->data, sizeof number);
    CALL_NEXT(tool_id, T_enum_get_info, MPI_T_ENUM_GET_INFO_T, variable->enumtype, &items, NULL,
              &length);
    for (int i = 0; i < items && !variable->label; i++) {
        int value = 0;
        char name[128];
        length = sizeof name;
        if (CALL_NEXT(tool_id, T_enum_get_item, MPI_T_ENUM_GET_ITEM_T, variable->enumtype, i,
                      &value, name, &length) == MPI_SUCCESS &&
            value == number)
            variable->label = qmpi_copy(name);
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

static const char *read_cvar(int tool_id, struct variable *variable, bool has_world)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_cvar_handle handle;
    const bool bound = variable->bind != MPI_T_BIND_NO_OBJECT;
    if (!variable->type)
        return "its datatype is not one of MPI_T's";
    if (bound && (variable->bind != MPI_T_BIND_MPI_COMM || !has_world))
        return "it is bound to an object";
    if (CALL_NEXT(tool_id, T_cvar_handle_alloc, MPI_T_CVAR_HANDLE_ALLOC_T, variable->index,
                  bound ? &world : NULL, &handle, &variable->count) != MPI_SUCCESS)
        return "no handle can be allocated";
    variable->data = variable_make_room(variable->type, variable->count);
    const int result =
        CALL_NEXT(tool_id, T_cvar_read, MPI_T_CVAR_READ_T, handle, (void *)variable->data);
    CALL_NEXT(tool_id, T_cvar_handle_free, MPI_T_CVAR_HANDLE_FREE_T, &handle);
    return result == MPI_SUCCESS ? NULL : "it cannot be read";
}

/* Copies a value from before MPI_Init. */
static const char *copy_early_value(struct variable *variable,
                                    const struct variable_early_value *value)
{
    if (!variable->type)
        return "its datatype is not one of MPI_T's";
    if (variable->bind != MPI_T_BIND_NO_OBJECT)
        return "it is bound to an object";
    if (!value->data)
        return "its part of MPI may no longer exist, and it did not exist before MPI was "
               "initialized";
    variable->count = value->count;
    variable->data = variable_make_room(variable->type, value->count);
    memcpy(variable->data, value->data, variable->type->size * (size_t)value->count);
    variable->early = true;
    return NULL;
}

/* Returns whether the value of a variable accumulates only after the variable was started. A new
 * handle would then read nothing useful. */
static bool accumulates_from_start(const struct variable *variable)
{
    switch (variable->var_class) {
    case MPI_T_PVAR_CLASS_COUNTER:
    case MPI_T_PVAR_CLASS_AGGREGATE:
    case MPI_T_PVAR_CLASS_TIMER:
    case MPI_T_PVAR_CLASS_HIGHWATERMARK:
    case MPI_T_PVAR_CLASS_LOWWATERMARK:
        return !variable->continuous;
    default:
        return false;
    }
}

static const char *read_by_new_handle(int tool_id, MPI_T_pvar_session session,
                                      struct variable *variable, bool has_world)
{
    MPI_T_pvar_handle handle;
    const char *reason =
        samples_watch_open(tool_id, session, variable, has_world, &handle, &variable->count);
    if (reason)
        return reason;
    if (!variable->continuous)
        CALL_NEXT(tool_id, T_pvar_start, MPI_T_PVAR_START_T, session, handle);
    variable->data = variable_make_room(variable->type, variable->count);
    const int result =
        CALL_NEXT(tool_id, T_pvar_read, MPI_T_PVAR_READ_T, session, handle, (void *)variable->data);
    CALL_NEXT(tool_id, T_pvar_handle_free, MPI_T_PVAR_HANDLE_FREE_T, session, &handle);
    return result == MPI_SUCCESS ? NULL : "it cannot be read";
}

struct reader {
    int tool_id;
    const struct samples_watch *watch;
    const struct variable_early *early;
    const char *patterns;
    bool has_world;
};

static const char *read_pvar(const struct reader *reader, MPI_T_pvar_session session,
                             struct variable *variable)
{
    const struct samples_watch *watch = reader->watch;
    const struct samples_watched *watched =
        watch ? samples_watch_find(watch, variable->index) : NULL;
    if (watched) {
        variable->count = watched->count;
        variable->data = samples_watch_read(watch, watched);
        return variable->data ? NULL : "it cannot be read";
    }
    if (accumulates_from_start(variable))
        return "it counts only from its start";
    if (!variable_early_allows(reader->early, variable->name, variable->var_class,
                               reader->patterns))
        return "its part of MPI may not be in use: request it by its full name";
    return read_by_new_handle(reader->tool_id, session, variable, reader->has_world);
}

static void set_result(int tool_id, struct variable *variable, const char *reason)
{
    variable->reason = reason;
    if (reason) {
        free(variable->data);
        variable->data = NULL;
    }
    find_label(tool_id, variable);
}

/* ---- The catalogue --------------------------------------------------------------------------- */

typedef int member_function(int tool_id, int category, int length, int *indices);

#define MEMBERS(what, NUMBER)                                                                      \
    static int get_##what(int tool_id, int category, int length, int *indices)                     \
    {                                                                                              \
        return CALL_NEXT(tool_id, T_category_get_##what, NUMBER, category, length, indices);       \
    }
MEMBERS(cvars, MPI_T_CATEGORY_GET_CVARS_T)
MEMBERS(pvars, MPI_T_CATEGORY_GET_PVARS_T)
MEMBERS(categories, MPI_T_CATEGORY_GET_CATEGORIES_T)

/* Reads the members of a category. Omits indices from `limit` on, which have appeared since the
 * variables were read. */
static void read_members(int tool_id, int category, int count, int limit, member_function *get,
                         struct catalogue_members *members)
{
    members->indices = qmpi_allocate((size_t)count + 1, sizeof *members->indices);
    if (!count || get(tool_id, category, count, members->indices) != MPI_SUCCESS)
        return;
    for (int i = 0; i < count; i++) {
        const int index = members->indices[i];
        if (index >= 0 && index < limit)
            members->indices[members->count++] = index;
    }
}

static void read_category(int tool_id, int index, const struct catalogue *catalogue,
                          struct catalogue_category *category)
{
    int name_length = 0, description_length = 0, cvars = 0, pvars = 0, categories = 0;
    CALL_NEXT(tool_id, T_category_get_info, MPI_T_CATEGORY_GET_INFO_T, index, NULL, &name_length,
              NULL, &description_length, &cvars, &pvars, &categories);
    category->name = qmpi_allocate((size_t)name_length + 1, 1);
    category->description = qmpi_allocate((size_t)description_length + 1, 1);
    CALL_NEXT(tool_id, T_category_get_info, MPI_T_CATEGORY_GET_INFO_T, index, category->name,
              &name_length, category->description, &description_length, NULL, NULL, NULL);
    read_members(tool_id, index, cvars, catalogue->cvar_count, get_cvars, &category->cvars);
    read_members(tool_id, index, pvars, catalogue->pvar_count, get_pvars, &category->pvars);
    read_members(tool_id, index, categories, catalogue->category_count, get_categories,
                 &category->categories);
}

static void read_cvars(struct catalogue *catalogue, const struct reader *reader)
{
    for (int i = 0; i < catalogue->cvar_count; i++) {
        struct variable *variable = &catalogue->cvars[i];
        struct variable_early_value value;
        if (!variable_read_cvar_info(reader->tool_id, i, variable))
            continue;
        const char *reason = variable_early_find(reader->early, variable->name, &value)
                                 ? copy_early_value(variable, &value)
                                 : read_cvar(reader->tool_id, variable, reader->has_world);
        set_result(reader->tool_id, variable, reason);
        catalogue->early |= variable->early;
    }
}

static void read_pvars(struct catalogue *catalogue, const struct reader *reader)
{
    const int tool_id = reader->tool_id;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    CALL_NEXT(tool_id, T_pvar_session_create, MPI_T_PVAR_SESSION_CREATE_T, &session);
    for (int i = 0; i < catalogue->pvar_count; i++) {
        struct variable *variable = &catalogue->pvars[i];
        if (variable_read_pvar_info(tool_id, i, variable))
            set_result(tool_id, variable, read_pvar(reader, session, variable));
    }
    CALL_NEXT(tool_id, T_pvar_session_free, MPI_T_PVAR_SESSION_FREE_T, &session);
}

struct catalogue *catalogue_read(int tool_id, const struct samples_watch *watch,
                                 const struct variable_early *early, const char *patterns,
                                 bool has_world)
{
    const struct reader reader = {tool_id, watch, early, patterns, has_world};
    struct catalogue *catalogue = qmpi_allocate(1, sizeof *catalogue);
    CALL_NEXT(tool_id, T_cvar_get_num, MPI_T_CVAR_GET_NUM_T, &catalogue->cvar_count);
    CALL_NEXT(tool_id, T_pvar_get_num, MPI_T_PVAR_GET_NUM_T, &catalogue->pvar_count);
    CALL_NEXT(tool_id, T_category_get_num, MPI_T_CATEGORY_GET_NUM_T, &catalogue->category_count);
    catalogue->cvars = qmpi_allocate((size_t)catalogue->cvar_count + 1, sizeof(struct variable));
    catalogue->pvars = qmpi_allocate((size_t)catalogue->pvar_count + 1, sizeof(struct variable));
    catalogue->categories =
        qmpi_allocate((size_t)catalogue->category_count + 1, sizeof(struct catalogue_category));
    read_cvars(catalogue, &reader);
    read_pvars(catalogue, &reader);
    for (int i = 0; i < catalogue->category_count; i++)
        read_category(tool_id, i, catalogue, &catalogue->categories[i]);
    return catalogue;
}

void catalogue_free(struct catalogue *catalogue)
{
    for (int i = 0; i < catalogue->cvar_count; i++)
        variable_clear(&catalogue->cvars[i]);
    for (int i = 0; i < catalogue->pvar_count; i++)
        variable_clear(&catalogue->pvars[i]);
    for (int i = 0; i < catalogue->category_count; i++) {
        struct catalogue_category *category = &catalogue->categories[i];
        free(category->name);
        free(category->description);
        free(category->cvars.indices);
        free(category->pvars.indices);
        free(category->categories.indices);
    }
    free(catalogue->cvars);
    free(catalogue->pvars);
    free(catalogue->categories);
    free(catalogue);
}

/* ---- Lists: the table ------------------------------------------------------------------------ */

enum { VALUE_WIDTH = 24 };

static int find_name_width(const struct catalogue_list *list, const struct variable *variables,
                           int count)
{
    int width = 4;
    for (int i = 0; i < count; i++) {
        const char *name = variables[i].name;
        if (name && qmpi_value_matches_patterns(list->patterns, name, false) &&
            (int)strlen(name) > width)
            width = (int)strlen(name);
    }
    return width;
}

/* Replaces control characters by blanks, so that the text stays on one line. */
static void print_line(FILE *stream, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], stream);
}

static void print_value(FILE *stream, const struct variable *variable)
{
    char *text = NULL;
    size_t length = 0;
    FILE *value = open_memstream(&text, &length);
    if (!value)
        return;
    if (!variable->data)
        fputc('-', value);
    else
        variable_print(value, variable->type, variable->data, variable->count);
    if (variable->label)
        fprintf(value, " (%s)", variable->label);
    fclose(value);
    print_line(stream, text, length);
    fprintf(stream, "%*s ", length < VALUE_WIDTH ? VALUE_WIDTH - (int)length : 0, "");
    free(text);
}

static void print_variable(FILE *stream, const struct variable *variable, int width,
                           const char *word)
{
    char type[64];
    const char *name = variable->type ? variable->type->name : "?";
    if (variable->count > 1)
        snprintf(type, sizeof type, "%s[%d]", name, variable->count);
    else
        snprintf(type, sizeof type, "%s", name);
    fprintf(stream, "  %-*s ", width, variable->name);
    print_value(stream, variable);
    fprintf(stream, "%-22s %-13s %-12s %-8s ", type, word,
            variable_verbosity_name(variable->verbosity), variable_binding_name(variable->bind));
    print_line(stream, variable->description, strcspn(variable->description, "\n"));
    fputc('\n', stream);
}

/* Some numbers belong to variables that do not exist at present. They have no names. */
static int count_named(const struct variable *variables, int count)
{
    int named = 0;
    for (int i = 0; i < count; i++)
        named += variables[i].name != NULL;
    return named;
}

static int count_shown(const struct catalogue_list *list, const struct variable *variables,
                       int count)
{
    int shown = 0;
    for (int i = 0; i < count; i++)
        shown += variables[i].name &&
                 qmpi_value_matches_patterns(list->patterns, variables[i].name, false);
    return shown;
}

static void print_variables(FILE *stream, const struct catalogue_list *list, const char *title,
                            const struct variable *variables, int count, bool are_pvars)
{
    const int width = find_name_width(list, variables, count);
    if (!count_shown(list, variables, count))
        return;
    fprintf(stream, "%s\n  %-*s %-*s %-22s %-13s %-12s %-8s %s\n", title, width, "name",
            VALUE_WIDTH, "value", "type", are_pvars ? "class" : "scope", "for", "bound to",
            "description");
    for (int i = 0; i < count; i++) {
        const struct variable *variable = &variables[i];
        if (variable->name && qmpi_value_matches_patterns(list->patterns, variable->name, false))
            print_variable(stream, variable, width,
                           are_pvars ? variable_class_name(variable->var_class)
                                     : variable_scope_name(variable->scope));
    }
}

static void print_categories(FILE *stream, const struct catalogue_list *list)
{
    const struct catalogue *all = list->catalogue;
    bool begun = false;
    for (int i = 0; i < all->category_count; i++) {
        const struct catalogue_category *category = &all->categories[i];
        if (!qmpi_value_matches_patterns(list->patterns, category->name, false))
            continue;
        if (!begun)
            fprintf(stream, "categories\n  %-32s %8s %11s %10s %s\n", "name", "control",
                    "performance", "categories", "description");
        begun = true;
        fprintf(stream, "  %-32s %8d %11d %10d ", category->name, category->cvars.count,
                category->pvars.count, category->categories.count);
        print_line(stream, category->description, strcspn(category->description, "\n"));
        fputc('\n', stream);
    }
}

void catalogue_print_table(FILE *stream, const struct catalogue_list *list)
{
    const struct catalogue *all = list->catalogue;
    fprintf(stream,
            "mpit (layer %d): %d control variables, %d performance variables, %d categories, at "
            "MPI_%s in rank %d\n",
            list->tool_id, count_named(all->cvars, all->cvar_count),
            count_named(all->pvars, all->pvar_count), all->category_count,
            !strcmp(list->moment, "init") ? "Init" : "Finalize", list->rank);
    if (all->early)
        fprintf(stream, "the values of the MPI library's control variables are from before MPI was "
                        "initialized, because some no longer exist\n");
    print_variables(stream, list, "control variables", all->cvars, all->cvar_count, false);
    print_variables(stream, list, "performance variables", all->pvars, all->pvar_count, true);
    print_categories(stream, list);
}

/* ---- Lists: JSON ----------------------------------------------------------------------------- */

static json_t *json_of_text(const char *text, size_t length)
{
    json_t *string = json_stringn(text, length);
    return string ? string : json_string("(not UTF-8)");
}

/* Large unsigned integers become real numbers, and infinities and NaN become null, because readers
 * of JSON do not support such numbers. */
static json_t *json_of_element(const struct variable *variable, int i)
{
    unsigned long long number;
    switch (variable->type->kind) {
    case VALUE_SIGNED:
        return json_integer(variable_signed(variable->type, variable->data, i));
    case VALUE_UNSIGNED:
        number = variable_unsigned(variable->type, variable->data, i);
        return number <= LLONG_MAX ? json_integer((json_int_t)number) : json_real((double)number);
    default:
        return isfinite(variable_double(variable->data, i))
                   ? json_real(variable_double(variable->data, i))
                   : json_null();
    }
}

static json_t *json_of_value(const struct variable *variable)
{
    if (!variable->data)
        return json_null();
    if (variable->type->kind == VALUE_TEXT)
        return json_of_text(variable->data, strnlen(variable->data, (size_t)variable->count));
    if (variable->count == 1)
        return json_of_element(variable, 0);
    json_t *array = json_array();
    for (int i = 0; i < variable->count; i++)
        json_array_append_new(array, json_of_element(variable, i));
    return array;
}

static json_t *json_of_variable(const struct variable *variable)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", json_of_text(variable->name, strlen(variable->name)));
    json_object_set_new(object, "value", json_of_value(variable));
    if (variable->reason)
        json_object_set_new(object, "reason", json_string(variable->reason));
    if (variable->early)
        json_object_set_new(object, "early", json_true());
    if (variable->label)
        json_object_set_new(object, "label",
                            json_of_text(variable->label, strlen(variable->label)));
    json_object_set_new(object, "datatype",
                        json_string(variable->type ? variable->type->name : "?"));
    json_object_set_new(object, "count", json_integer(variable->count));
    json_object_set_new(object, "verbosity",
                        json_string(variable_verbosity_name(variable->verbosity)));
    json_object_set_new(object, "bind", json_string(variable_binding_name(variable->bind)));
    json_object_set_new(object, "description",
                        json_of_text(variable->description, strlen(variable->description)));
    return object;
}

static json_t *json_of_cvars(const struct catalogue_list *list)
{
    json_t *array = json_array();
    for (int i = 0; i < list->catalogue->cvar_count; i++) {
        const struct variable *variable = &list->catalogue->cvars[i];
        if (!variable->name || !qmpi_value_matches_patterns(list->patterns, variable->name, false))
            continue;
        json_t *object = json_of_variable(variable);
        json_object_set_new(object, "scope", json_string(variable_scope_name(variable->scope)));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_of_pvars(const struct catalogue_list *list)
{
    json_t *array = json_array();
    for (int i = 0; i < list->catalogue->pvar_count; i++) {
        const struct variable *variable = &list->catalogue->pvars[i];
        if (!variable->name || !qmpi_value_matches_patterns(list->patterns, variable->name, false))
            continue;
        json_t *object = json_of_variable(variable);
        json_object_set_new(object, "class", json_string(variable_class_name(variable->var_class)));
        json_object_set_new(object, "readonly", json_boolean(variable->readonly));
        json_object_set_new(object, "continuous", json_boolean(variable->continuous));
        json_object_set_new(object, "atomic", json_boolean(variable->atomic));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *json_of_names(const struct catalogue_members *members,
                             const struct variable *variables)
{
    json_t *array = json_array();
    for (int i = 0; i < members->count; i++) {
        const char *name = variables[members->indices[i]].name;
        if (name)
            json_array_append_new(array, json_of_text(name, strlen(name)));
    }
    return array;
}

static json_t *json_of_categories(const struct catalogue_list *list)
{
    const struct catalogue *all = list->catalogue;
    json_t *array = json_array();
    for (int i = 0; i < all->category_count; i++) {
        const struct catalogue_category *category = &all->categories[i];
        if (!qmpi_value_matches_patterns(list->patterns, category->name, false))
            continue;
        json_t *inner = json_array();
        for (int j = 0; j < category->categories.count; j++) {
            const char *name = all->categories[category->categories.indices[j]].name;
            json_array_append_new(inner, json_of_text(name, strlen(name)));
        }
        json_t *object = json_object();
        json_object_set_new(object, "name", json_of_text(category->name, strlen(category->name)));
        json_object_set_new(object, "description",
                            json_of_text(category->description, strlen(category->description)));
        json_object_set_new(object, "cvars", json_of_names(&category->cvars, all->cvars));
        json_object_set_new(object, "pvars", json_of_names(&category->pvars, all->pvars));
        json_object_set_new(object, "categories", inner);
        json_array_append_new(array, object);
    }
    return array;
}

bool catalogue_print_json(FILE *stream, const struct catalogue_list *list)
{
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_string("qmpi-mpit/1"));
    json_object_set_new(root, "moment", json_string(list->moment));
    json_object_set_new(root, "rank", json_integer(list->rank));
    json_object_set_new(root, "cvars", json_of_cvars(list));
    json_object_set_new(root, "pvars", json_of_pvars(list));
    json_object_set_new(root, "categories", json_of_categories(list));
    const bool written = !json_dumpf(root, stream, JSON_INDENT(2)) && fputc('\n', stream) != EOF;
    json_decref(root);
    return written;
}
