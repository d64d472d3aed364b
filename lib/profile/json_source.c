/* SPDX-License-Identifier: MIT */
/* See json_source.h. */
#define _GNU_SOURCE
#include "profile/json_source.h"

#include "util/util.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- Problems -------------------------------------------------------------------------------- */

static char *describe_place(const struct place *place)
{
    if (!place)
        return qmpi_copy("");
    char *before = describe_place(place->parent);
    char *text = place->key ? qmpi_format("%s%s%s", before, *before ? "." : "", place->key)
                            : qmpi_format("%s[%zu]", before, place->index);
    free(before);
    return text;
}

static const char *type_name(const json_t *value)
{
    if (!value)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "a whole number";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}

void source_fail(struct reader *reader, const struct place *place, const char *expected,
                 const json_t *found)
{
    if (reader->problem)
        return;
    char *where = describe_place(place);
    char *value = json_is_integer(found) ? qmpi_format("%lld", (long long)json_integer_value(found))
                                         : qmpi_copy(type_name(found));
    reader->problem = qmpi_message("%s: %s: expected %s, found %s", reader->path,
                                   *where ? where : "the document", expected, value);
    free(value);
    free(where);
}

/* The member, if it is there. */
const json_t *source_member(const struct source *source, const char *key)
{
    return source->reader->problem ? NULL : json_object_get(source->object, key);
}

void source_fail_member(const struct source *source, const char *key, const char *expected)
{
    const struct place place = {&source->place, key, 0};
    source_fail(source->reader, &place, expected, json_object_get(source->object, key));
}

/* ---- Plain values ---------------------------------------------------------------------------- */

char *source_string(const struct source *source, const char *key)
{
    const json_t *value = source_member(source, key);
    if (json_is_string(value))
        return qmpi_copy(json_string_value(value));
    source_fail_member(source, key, "a string");
    return NULL;
}

char *source_optional_string(const struct source *source, const char *key)
{
    return source_member(source, key) ? source_string(source, key) : NULL;
}

double source_real(const struct source *source, const char *key)
{
    const json_t *value = source_member(source, key);
    if (!json_is_number(value))
        source_fail_member(source, key, "a number");
    return json_number_value(value);
}

uint64_t source_whole(const struct source *source, const char *key)
{
    const json_t *value = source_member(source, key);
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0)
        source_fail_member(source, key, "a whole number, 0 or more");
    return number < 0 ? 0 : (uint64_t)number;
}

int source_int(const struct source *source, const char *key, int least)
{
    const json_t *value = source_member(source, key);
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= least && number <= INT_MAX)
        return (int)number;
    char *expected = qmpi_format("a whole number from %d to %d", least, INT_MAX);
    source_fail_member(source, key, expected);
    free(expected);
    return 0;
}

int source_optional_int(const struct source *source, const char *key, int missing)
{
    return source_member(source, key) ? source_int(source, key, 0) : missing;
}

/* 64 bits as a string, decimal or with 0x. */
uint64_t source_bits(const struct source *source, const char *key)
{
    char *text = source_string(source, key), *end = text;
    errno = 0;
    const unsigned long long value = text ? strtoull(text, &end, 0) : 0;
    if (text && (end == text || *end || errno || strchr(text, '-')))
        source_fail_member(source, key, "a 64-bit number as a string");
    free(text);
    return value;
}

/* ---- Objects and arrays ---------------------------------------------------------------------- */

struct source source_object(const struct source *source, const char *key)
{
    const json_t *value = source_member(source, key);
    if (!json_is_object(value))
        source_fail_member(source, key, "an object");
    return (struct source){source->reader, {&source->place, key, 0}, value};
}

/*
 * An array of objects: allocates what holds `size` bytes for each and has `read` fill it. What has
 * been read before a problem is freed with the whole result.
 */
void *source_array(const struct source *source, const char *key, size_t size, size_t *count,
                   void (*read)(const struct source *source, void *element))
{
    const json_t *array = source_member(source, key);
    const struct place place = {&source->place, key, 0};
    *count = 0;
    if (!json_is_array(array)) {
        source_fail_member(source, key, "an array");
        return NULL;
    }
    const size_t length = json_array_size(array);
    char *elements = length ? qmpi_allocate(length, size) : NULL;
    for (; *count < length && !source->reader->problem; ++*count) {
        const struct source element = {
            source->reader, {&place, NULL, *count}, json_array_get(array, *count)};
        if (json_is_object(element.object))
            read(&element, elements + *count * size);
        else
            source_fail(source->reader, &element.place, "an object", element.object);
    }
    return elements;
}
