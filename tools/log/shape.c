/* SPDX-License-Identifier: MIT */
/* See shape.h. A shape is made when its function is first called. */
#define _GNU_SOURCE
#include "tools/log/shape.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* Returns the index of the first parameter that is a datatype passed by value, or -1. */
static signed char find_datatype(const QMPIX_Function *function)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (function->parameters[i].kind == QMPIX_KIND_DATATYPE &&
            !function->parameters[i].indirection)
            return (signed char)i;
    }
    return -1;
}

static void describe_argument(struct shape *shape, const QMPIX_Function *function, int i)
{
    QMPIX_Parameter_traits traits = {.size = sizeof traits};
    QMPIX_Function_get_parameter_traits(function, i, &traits);
    const bool is_string = traits.length == QMPIX_LENGTH_ROOM;
    shape->shown[i].direction = (unsigned char)traits.direction;
    shape->shown[i].constants = (unsigned char)traits.constants;
    shape->shown[i].length = (unsigned char)(is_string ? QMPIX_LENGTH_ONE : traits.length);
    shape->shown[i].of = (signed char)(is_string ? -1 : traits.of);
    shape->shown[i].string_of = (signed char)(is_string ? traits.of : -1);
    shape->is_sized |=
        traits.length >= QMPIX_LENGTH_PEERS && traits.length <= QMPIX_LENGTH_DIMENSIONS;
}

static void derive_shape(struct shape *shape, const QMPIX_Function *function)
{
    const QMPIX_Parameter *parameters = function->parameters;
    const int count = function->parameter_count;
    QMPIX_Traits traits = {.size = sizeof traits};
    QMPIX_Function_get_traits(function, &traits);
    shape->count = count < SHAPE_PARAMETERS ? count : SHAPE_PARAMETERS;
    shape->comm =
        (signed char)(traits.comm >= 0 && !parameters[traits.comm].indirection ? traits.comm : -1);
    shape->datatype = traits.receive_type >= 0 && !parameters[traits.receive_type].indirection
                          ? (signed char)traits.receive_type
                          : find_datatype(function);
    shape->request = (signed char)traits.request;
    shape->root = (signed char)traits.root;
    shape->flag = (signed char)traits.flag;
    shape->has_error = traits.flags & QMPIX_TRAIT_ERROR;
    shape->completes = function->group == QMPIX_GROUP_COMPLETION;
    shape->has_status = function->group != QMPIX_GROUP_IO;
    for (int i = 0; i < shape->count; i++)
        describe_argument(shape, function, i);
}

static struct shape_piece make_label(const char *before, const char *name, const char *behind)
{
    const size_t length = strlen(before) + strlen(name) + strlen(behind);
    char *text = qmpi_memory_take(length + 1);
    if (text)
        stpcpy(stpcpy(stpcpy(text, before), name), behind);
    return (struct shape_piece){text, length};
}

/* Makes the labels of all arguments. Returns false if memory is exhausted. */
static bool make_labels(struct shape *shape, const QMPIX_Function *function)
{
    bool good = true;
    shape->name = (struct shape_piece){function->name, strlen(function->name)};
    for (int i = 0; i < shape->count; i++) {
        const QMPIX_Parameter *parameter = &function->parameters[i];
        shape->shown[i].label =
            parameter->kind == QMPIX_KIND_PCONTROL_WORDS /* The variable arguments are unknown. */
                ? make_label(i ? ", " : "(", "...", "")
                : make_label(i ? ", " : "(", parameter->name, "=");
        good = good && shape->shown[i].label.text;
    }
    return good;
}

const struct shape *shape_of(const QMPIX_Function *function)
{
    static struct shape *shapes[MPI_LAST_FUNC];
    struct shape **place = &shapes[function->number], *none = NULL;
    struct shape *shape = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (shape)
        return shape;
    shape = qmpi_memory_take(sizeof *shape);
    if (!shape)
        return NULL;
    derive_shape(shape, function);
    if (!make_labels(shape, function))
        return NULL;
    const bool first =
        __atomic_compare_exchange_n(place, &none, shape, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return first ? shape : none;
}
