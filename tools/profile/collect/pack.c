/* SPDX-License-Identifier: MIT */
/*
 * See pack.h. The same functions measure, write and read a result, according to the tables of
 * members. Therefore, what is written and what is read cannot differ.
 */
#define _GNU_SOURCE
#include "tools/profile/collect/pack.h"

#include <stdlib.h>
#include <string.h>

struct wire {
    char *to;         /* the target of writing; NULL: the size is measured, or bytes are read */
    const char *from; /* the source of reading; NULL: bytes are not read */
    size_t size, at;
    bool failed;
};

static void put_words(struct wire *wire, void *data, size_t size)
{
    if (wire->failed || size > wire->size - wire->at) {
        wire->failed = true;
        return;
    }
    if (wire->from)
        memcpy(data, wire->from + wire->at, size);
    else if (wire->to)
        memcpy(wire->to + wire->at, data, size);
    wire->at += size;
}

static void put_text(struct wire *wire, char **text)
{
    enum { NONE = 0 }; /* stands for NULL; a text has its length + 1 */
    uint64_t length = *text && !wire->from ? strlen(*text) + 1 : NONE;
    put_words(wire, &length, sizeof length);
    if (wire->failed || length == NONE)
        return;
    if (wire->from) {
        *text = length <= wire->size - wire->at ? calloc(length, 1) : NULL;
        wire->failed = !*text;
    }
    if (!wire->failed)
        put_words(wire, *text, length - 1);
}

static void put_members(struct wire *wire, const struct member_type *type, void *element);

/* Writes or reads the number of elements of an array, and the elements. An array that is read is
 * allocated here. Fails if the number is impossible. */
static void put_array(struct wire *wire, const struct member *member, void *element)
{
    const size_t size = member->type ? member->type->size : 1;
    char *all = member_pointer(member, element);
    uint64_t count = all && !wire->from ? member_count(member, element) : 0;
    put_words(wire, &count, sizeof count);
    if (wire->failed || !count)
        return;
    if (wire->from) {
        all = count <= wire->size - wire->at ? calloc((size_t)count, size) : NULL;
        wire->failed = !all;
        member_set_pointer(member, element, all);
        member_set_count(member, element, all ? (size_t)count : 0);
    }
    if (!member->type && all)
        put_words(wire, all, (size_t)count);
    for (size_t i = 0; member->type && all && i < count; i++)
        put_members(wire, member->type, all + i * size);
}

static size_t size_of_member(const struct member *member)
{
    switch (member->kind) {
    case MEMBER_INT:
        return sizeof(int);
    case MEMBER_REAL:
        return sizeof(double);
    case MEMBER_FLAG:
    case MEMBER_BOOLEAN:
        return sizeof(bool);
    case MEMBER_SPREAD:
        return sizeof(struct profile_spread);
    case MEMBER_CALLS:
        return sizeof(struct profile_calls);
    case MEMBER_BINS:
        return (size_t)member->bins * sizeof(uint64_t);
    default:
        return sizeof(uint64_t);
    }
}

static void put_members(struct wire *wire, const struct member_type *type, void *element)
{
    for (const struct member *member = type->members; member->kind != MEMBER_END; member++) {
        void *place = (char *)element + member->offset;
        if (member->kind == MEMBER_TEXT)
            put_text(wire, place);
        else if (member->kind >= MEMBER_BYTES)
            put_array(wire, member, element);
        else
            put_words(wire, place, size_of_member(member));
    }
}

static void put_result(struct wire *wire, struct profile_result *result)
{
    put_members(wire, &members_result_head, result);
    put_members(wire, &members_result_unfinished, result);
    put_members(wire, &members_result_arrays, result);
    put_members(wire, &members_windows, &result->windows);
}

char *pack_make(struct profile_result *result, size_t *size)
{
    struct wire measure = {.size = SIZE_MAX};
    put_result(&measure, result);
    struct wire wire = {.to = malloc(measure.at), .size = measure.at};
    if (!wire.to)
        return NULL;
    put_result(&wire, result);
    *size = wire.at;
    return wire.to;
}

struct profile_result *pack_read(const char *bytes, size_t size)
{
    struct wire wire = {.from = bytes, .size = size};
    struct profile_result *result = calloc(1, sizeof *result);
    if (!result)
        return NULL;
    put_result(&wire, result);
    if (!wire.failed)
        return result;
    profile_result_free(result);
    return NULL;
}
