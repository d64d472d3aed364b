/* SPDX-License-Identifier: MIT */
/* See member.h. */
#define _GNU_SOURCE
#include "manifest/member.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_MAX = 10000 }; /* of an array: more is no manifest */

/* To be freed. */
static char *describe(const json_t *value)
{
    switch (value ? (int)json_typeof(value) : -1) {
    case -1:
        return qmpi_copy("nothing");
    case JSON_OBJECT:
        return qmpi_copy("an object");
    case JSON_ARRAY:
        return qmpi_format("an array of %zu elements", json_array_size(value));
    case JSON_STRING: {
        char *shown = qmpi_shorten(json_string_value(value));
        char *text = qmpi_format("'%s'", shown);
        free(shown);
        return text;
    }
    case JSON_INTEGER:
    case JSON_REAL:
        return qmpi_copy("a number");
    case JSON_TRUE:
        return qmpi_copy("true");
    case JSON_FALSE:
        return qmpi_copy("false");
    default:
        return qmpi_copy("null");
    }
}

static void fail(const struct member_source *source, const char *key, const char *expected,
                 const json_t *found)
{
    if (*source->problem)
        return;
    char *text = describe(found);
    *source->problem = qmpi_message("%s: %s%s: expected %s, found %-s\n"
                                    "hint: correct this manifest, or remove it; "
                                    "qmpi-manifest(5) describes the format",
                                    source->path, source->place, key, expected, text);
    free(text);
}

void member_fail(const struct member_source *source, const char *key, const char *expected)
{
    fail(source, key, expected, json_object_get(source->object, key));
}

/* One line, which is not empty. */
static bool is_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && *text && !strpbrk(text, "\r\n");
}

char *member_text(const struct member_source *source, const char *key)
{
    const json_t *value = json_object_get(source->object, key);
    if (is_text(value))
        return qmpi_copy(json_string_value(value));
    if (value)
        member_fail(source, key, "a string of one line");
    return NULL;
}

char *member_required_text(const struct member_source *source, const char *key)
{
    if (!json_object_get(source->object, key))
        member_fail(source, key, "a string of one line");
    return member_text(source, key);
}

bool member_flag(const struct member_source *source, const char *key)
{
    const json_t *value = json_object_get(source->object, key);
    if (value && !json_is_boolean(value))
        member_fail(source, key, "true or false");
    return json_is_true(value);
}

int member_choice(const struct member_source *source, const char *key, const char *const *choices,
                  const char *expected, int missing)
{
    const json_t *value = json_object_get(source->object, key);
    for (int i = 0; json_is_string(value) && choices[i]; i++) {
        if (!strcmp(choices[i], json_string_value(value)))
            return i;
    }
    if (value)
        member_fail(source, key, expected);
    return missing;
}

/* Whether there is an array to read. */
static bool is_array(const struct member_source *source, const char *key, const json_t *array)
{
    if (!array || *source->problem)
        return false;
    if (!json_is_array(array) || json_array_size(array) > ELEMENTS_MAX) {
        member_fail(source, key, "an array of at most 10000 elements");
        return false;
    }
    return true;
}

struct manifest_list member_list(const struct member_source *source, const char *key)
{
    const json_t *array = json_object_get(source->object, key);
    struct manifest_list list = {NULL, 0};
    if (!is_array(source, key, array))
        return list;
    list.items = qmpi_allocate(json_array_size(array) + 1, sizeof *list.items);
    for (size_t i = 0; i < json_array_size(array) && !*source->problem; i++) {
        const json_t *value = json_array_get(array, i);
        if (is_text(value)) {
            list.items[list.count++] = qmpi_copy(json_string_value(value));
        } else {
            char *place = qmpi_format("%s[%zu]", key, i);
            fail(source, place, "a string of one line", value);
            free(place);
        }
    }
    return list;
}

void member_each(const struct member_source *source, const char *key,
                 void (*read)(const struct member_source *element, void *data), void *data)
{
    const json_t *array = json_object_get(source->object, key);
    if (!is_array(source, key, array))
        return;
    for (size_t i = 0; i < json_array_size(array) && !*source->problem; i++) {
        const json_t *value = json_array_get(array, i);
        char *name = qmpi_format("%s[%zu]", key, i);
        char *place = qmpi_format("%s%s.", source->place, name);
        const struct member_source element = {source->problem, source->path, place, value};
        if (json_is_object(value))
            read(&element, data);
        else
            fail(source, name, "an object", value);
        free(place);
        free(name);
    }
}

struct member_source member_object(const struct member_source *source, const char *key)
{
    const json_t *value = json_object_get(source->object, key);
    if (value && !json_is_object(value))
        member_fail(source, key, "an object");
    return (struct member_source){source->problem, source->path,
                                  qmpi_format("%s%s.", source->place, key), value};
}
