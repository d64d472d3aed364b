/* SPDX-License-Identifier: MIT */
/* See value.h. */
#include "value.h"

#include "util/util.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TYPE(datatype, kind, c_type)                                                               \
    {                                                                                              \
        datatype, #datatype, VALUE_##kind, sizeof(c_type)                                          \
    }

static const struct value_type types[] = {
    TYPE(MPI_INT, SIGNED, int),
    TYPE(MPI_UNSIGNED, UNSIGNED, unsigned),
    TYPE(MPI_UNSIGNED_LONG, UNSIGNED, unsigned long),
    TYPE(MPI_UNSIGNED_LONG_LONG, UNSIGNED, unsigned long long),
    TYPE(MPI_COUNT, SIGNED, MPI_Count),
    TYPE(MPI_CHAR, TEXT, char),
    TYPE(MPI_DOUBLE, DOUBLE, double),
    TYPE(MPI_INT32_T, SIGNED, int32_t),
    TYPE(MPI_UINT32_T, UNSIGNED, uint32_t),
    TYPE(MPI_INT64_T, SIGNED, int64_t),
    TYPE(MPI_UINT64_T, UNSIGNED, uint64_t),
    TYPE(MPI_C_BOOL, UNSIGNED, bool), /* of MPI_T in Open MPI only */
};

const struct value_type *value_type_of(MPI_Datatype datatype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].datatype == datatype)
            return &types[i];
    }
    return NULL;
}

void *value_room(const struct value_type *type, int count)
{
    return qmpi_allocate((size_t)count + 1, type->size);
}

long long value_signed(const struct value_type *type, const void *array, int i)
{
    return type->size == sizeof(int32_t) ? ((const int32_t *)array)[i]
                                         : ((const int64_t *)array)[i];
}

unsigned long long value_unsigned(const struct value_type *type, const void *array, int i)
{
    if (type->size == sizeof(uint8_t))
        return ((const uint8_t *)array)[i];
    return type->size == sizeof(uint32_t) ? ((const uint32_t *)array)[i]
                                          : ((const uint64_t *)array)[i];
}

double value_double(const void *array, int i)
{
    return ((const double *)array)[i];
}

void value_print_element(FILE *stream, const struct value_type *type, const void *array, int i)
{
    switch (type->kind) {
    case VALUE_SIGNED:
        fprintf(stream, "%lld", value_signed(type, array, i));
        break;
    case VALUE_UNSIGNED:
        fprintf(stream, "%llu", value_unsigned(type, array, i));
        break;
    case VALUE_DOUBLE:
        fprintf(stream, "%.*g", DBL_DIG, value_double(array, i));
        break;
    case VALUE_TEXT:
        fputc(((const char *)array)[i], stream);
        break;
    }
}

void value_print(FILE *stream, const struct value_type *type, const void *array, int count)
{
    if (type->kind == VALUE_TEXT) {
        fprintf(stream, "%.*s", count, (const char *)array);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (i)
            fputc(' ', stream);
        value_print_element(stream, type, array, i);
    }
}

static bool store_signed(const struct value_type *type, long long value, void *array, int i)
{
    if (type->size == sizeof(int64_t)) {
        ((int64_t *)array)[i] = value;
        return true;
    }
    ((int32_t *)array)[i] = (int32_t)value;
    return value >= INT32_MIN && value <= INT32_MAX;
}

static bool store_unsigned(const struct value_type *type, unsigned long long value, void *array,
                           int i)
{
    if (type->size == sizeof(uint64_t)) {
        ((uint64_t *)array)[i] = value;
        return true;
    }
    if (type->size == sizeof(bool)) {
        ((bool *)array)[i] = value;
        return value <= 1;
    }
    ((uint32_t *)array)[i] = (uint32_t)value;
    return value <= UINT32_MAX;
}

bool value_parse(const struct value_type *type, const char *text, size_t length, void *array, int i)
{
    char number[64], *end = number;
    if (!length || length >= sizeof number || strchr(" \t\n", *text))
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    errno = 0;
    bool fits = true;
    if (type->kind == VALUE_SIGNED) {
        fits = store_signed(type, strtoll(number, &end, 0), array, i);
    } else if (type->kind == VALUE_UNSIGNED) {
        fits = *number != '-' && store_unsigned(type, strtoull(number, &end, 0), array, i);
    } else if (type->kind == VALUE_DOUBLE) {
        ((double *)array)[i] = strtod(number, &end);
    }
    return fits && !errno && end == number + length;
}
