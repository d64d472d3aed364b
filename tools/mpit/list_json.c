/* SPDX-License-Identifier: MIT */
/* See list.h. */
#define _GNU_SOURCE
#include "constants.h"
#include "list.h"
#include "patterns.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static json_t *text_of(const char *text, size_t length)
{
    json_t *string = json_stringn(text, length);
    return string ? string : json_string("(not UTF-8)");
}

/* JSON has no integers above those of its readers, and no infinities. */
static json_t *element_of(const struct variable *variable, int i)
{
    unsigned long long number;
    switch (variable->type->kind) {
    case VALUE_SIGNED:
        return json_integer(value_signed(variable->type, variable->data, i));
    case VALUE_UNSIGNED:
        number = value_unsigned(variable->type, variable->data, i);
        return number <= LLONG_MAX ? json_integer((json_int_t)number) : json_real((double)number);
    default:
        return isfinite(value_double(variable->data, i))
                   ? json_real(value_double(variable->data, i))
                   : json_null();
    }
}

static json_t *value_of(const struct variable *variable)
{
    if (!variable->data)
        return json_null();
    if (variable->type->kind == VALUE_TEXT)
        return text_of(variable->data, strnlen(variable->data, (size_t)variable->count));
    if (variable->count == 1)
        return element_of(variable, 0);
    json_t *array = json_array();
    for (int i = 0; i < variable->count; i++)
        json_array_append_new(array, element_of(variable, i));
    return array;
}

static json_t *describe(const struct variable *variable)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", text_of(variable->name, strlen(variable->name)));
    json_object_set_new(object, "value", value_of(variable));
    if (variable->reason)
        json_object_set_new(object, "reason", json_string(variable->reason));
    if (variable->early)
        json_object_set_new(object, "early", json_true());
    if (variable->label)
        json_object_set_new(object, "label", text_of(variable->label, strlen(variable->label)));
    json_object_set_new(object, "datatype",
                        json_string(variable->type ? variable->type->name : "?"));
    json_object_set_new(object, "count", json_integer(variable->count));
    json_object_set_new(object, "verbosity", json_string(word_of_verbosity(variable->verbosity)));
    json_object_set_new(object, "bind", json_string(word_of_binding(variable->bind)));
    json_object_set_new(object, "description",
                        text_of(variable->description, strlen(variable->description)));
    return object;
}

static json_t *list_cvars(const struct list *list)
{
    json_t *array = json_array();
    for (int i = 0; i < list->catalogue->cvar_count; i++) {
        const struct variable *variable = &list->catalogue->cvars[i];
        if (!variable->name || !globs_match(list->patterns, variable->name))
            continue;
        json_t *object = describe(variable);
        json_object_set_new(object, "scope", json_string(word_of_scope(variable->scope)));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *list_pvars(const struct list *list)
{
    json_t *array = json_array();
    for (int i = 0; i < list->catalogue->pvar_count; i++) {
        const struct variable *variable = &list->catalogue->pvars[i];
        if (!variable->name || !globs_match(list->patterns, variable->name))
            continue;
        json_t *object = describe(variable);
        json_object_set_new(object, "class", json_string(word_of_class(variable->var_class)));
        json_object_set_new(object, "readonly", json_boolean(variable->readonly));
        json_object_set_new(object, "continuous", json_boolean(variable->continuous));
        json_object_set_new(object, "atomic", json_boolean(variable->atomic));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *names_of(const struct members *members, const struct variable *variables)
{
    json_t *array = json_array();
    for (int i = 0; i < members->count; i++) {
        const char *name = variables[members->indices[i]].name;
        if (name)
            json_array_append_new(array, text_of(name, strlen(name)));
    }
    return array;
}

static json_t *list_categories(const struct list *list)
{
    const struct catalogue *all = list->catalogue;
    json_t *array = json_array();
    for (int i = 0; i < all->category_count; i++) {
        const struct category *category = &all->categories[i];
        if (!globs_match(list->patterns, category->name))
            continue;
        json_t *inner = json_array();
        for (int j = 0; j < category->categories.count; j++) {
            const char *name = all->categories[category->categories.indices[j]].name;
            json_array_append_new(inner, text_of(name, strlen(name)));
        }
        json_t *object = json_object();
        json_object_set_new(object, "name", text_of(category->name, strlen(category->name)));
        json_object_set_new(object, "description",
                            text_of(category->description, strlen(category->description)));
        json_object_set_new(object, "cvars", names_of(&category->cvars, all->cvars));
        json_object_set_new(object, "pvars", names_of(&category->pvars, all->pvars));
        json_object_set_new(object, "categories", inner);
        json_array_append_new(array, object);
    }
    return array;
}

bool list_json(FILE *stream, const struct list *list)
{
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_string("qmpi-mpit/1"));
    json_object_set_new(root, "moment", json_string(list->moment));
    json_object_set_new(root, "rank", json_integer(list->rank));
    json_object_set_new(root, "cvars", list_cvars(list));
    json_object_set_new(root, "pvars", list_pvars(list));
    json_object_set_new(root, "categories", list_categories(list));
    const bool written = !json_dumpf(root, stream, JSON_INDENT(2)) && fputc('\n', stream) != EOF;
    json_decref(root);
    return written;
}
