/* SPDX-License-Identifier: MIT */
/* See variable.h. */
#include "tools/mpit/variable.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <qmpi/qmpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool variable_read_cvar_info(int tool_id, int index, struct variable *variable)
{
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    int name_length = 0, description_length = 0;
    *variable = (struct variable){.index = index};
    if (CALL_NEXT(tool_id, T_cvar_get_info, MPI_T_CVAR_GET_INFO_T, index, NULL, &name_length, NULL,
                  NULL, NULL, NULL, &description_length, NULL, NULL) != MPI_SUCCESS)
        return false;
    variable->name = qmpi_allocate((size_t)name_length + 1, 1);
    variable->description = qmpi_allocate((size_t)description_length + 1, 1);
    CALL_NEXT(tool_id, T_cvar_get_info, MPI_T_CVAR_GET_INFO_T, index, variable->name, &name_length,
              &variable->verbosity, &datatype, &variable->enumtype, variable->description,
              &description_length, &variable->bind, &variable->scope);
    variable->type = variable_type_of(datatype);
    return true;
}

bool variable_read_pvar_info(int tool_id, int index, struct variable *variable)
{
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    int name_length = 0, description_length = 0;
    *variable = (struct variable){.index = index};
    if (CALL_NEXT(tool_id, T_pvar_get_info, MPI_T_PVAR_GET_INFO_T, index, NULL, &name_length, NULL,
                  NULL, NULL, NULL, NULL, &description_length, NULL, NULL, NULL,
                  NULL) != MPI_SUCCESS)
        return false;
    variable->name = qmpi_allocate((size_t)name_length + 1, 1);
    variable->description = qmpi_allocate((size_t)description_length + 1, 1);
    CALL_NEXT(tool_id, T_pvar_get_info, MPI_T_PVAR_GET_INFO_T, index, variable->name, &name_length,
              &variable->verbosity, &variable->var_class, &datatype, &variable->enumtype,
              variable->description, &description_length, &variable->bind, &variable->readonly,
              &variable->continuous, &variable->atomic);
    variable->type = variable_type_of(datatype);
    return true;
}

void variable_clear(struct variable *variable)
{
    free(variable->name);
    free(variable->description);
    free(variable->label);
    free(variable->data);
}

/* ---- Values ---------------------------------------------------------------------------------- */

#define TYPE(datatype, kind, c_type)                                                               \
    {                                                                                              \
        datatype, #datatype, VALUE_##kind, sizeof(c_type)                                          \
    }

static const struct variable_type types[] = {
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
    TYPE(MPI_C_BOOL, UNSIGNED, bool), /* only Open MPI has such variables */
};

const struct variable_type *variable_type_of(MPI_Datatype datatype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].datatype == datatype)
            return &types[i];
    }
    return NULL;
}

void *variable_make_room(const struct variable_type *type, int count)
{
    return qmpi_allocate((size_t)count + 1, type->size);
}

long long variable_signed(const struct variable_type *type, const void *array, int i)
{
    return type->size == sizeof(int32_t) ? ((const int32_t *)array)[i]
                                         : ((const int64_t *)array)[i];
}

unsigned long long variable_unsigned(const struct variable_type *type, const void *array, int i)
{
    if (type->size == sizeof(uint8_t))
        return ((const uint8_t *)array)[i];
    return type->size == sizeof(uint32_t) ? ((const uint32_t *)array)[i]
                                          : ((const uint64_t *)array)[i];
}

double variable_double(const void *array, int i)
{
    return ((const double *)array)[i];
}

void variable_print_element(FILE *stream, const struct variable_type *type, const void *array,
                            int i)
{
    switch (type->kind) {
    case VALUE_SIGNED:
        fprintf(stream, "%lld", variable_signed(type, array, i));
        break;
    case VALUE_UNSIGNED:
        fprintf(stream, "%llu", variable_unsigned(type, array, i));
        break;
    case VALUE_DOUBLE:
        fprintf(stream, "%.*g", DBL_DIG, variable_double(array, i));
        break;
    case VALUE_TEXT:
        fputc(((const char *)array)[i], stream);
        break;
    }
}

void variable_print(FILE *stream, const struct variable_type *type, const void *array, int count)
{
    if (type->kind == VALUE_TEXT) {
        fprintf(stream, "%.*s", count, (const char *)array);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (i)
            fputc(' ', stream);
        variable_print_element(stream, type, array, i);
    }
}

static bool store_signed(const struct variable_type *type, long long value, void *array, int i)
{
    if (type->size == sizeof(int64_t)) {
        ((int64_t *)array)[i] = value;
        return true;
    }
    ((int32_t *)array)[i] = (int32_t)value;
    return value >= INT32_MIN && value <= INT32_MAX;
}

static bool store_unsigned(const struct variable_type *type, unsigned long long value, void *array,
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

bool variable_parse_element(const struct variable_type *type, const char *text, size_t length,
                            void *array, int i)
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

/* ---- Constants ------------------------------------------------------------------------------- */

struct word {
    int number;
    const char *text;
};

static const struct word verbosities[] = {
    {MPI_T_VERBOSITY_USER_BASIC, "user_basic"},
    {MPI_T_VERBOSITY_USER_DETAIL, "user_detail"},
    {MPI_T_VERBOSITY_USER_ALL, "user_all"},
    {MPI_T_VERBOSITY_TUNER_BASIC, "tuner_basic"},
    {MPI_T_VERBOSITY_TUNER_DETAIL, "tuner_detail"},
    {MPI_T_VERBOSITY_TUNER_ALL, "tuner_all"},
    {MPI_T_VERBOSITY_MPIDEV_BASIC, "mpidev_basic"},
    {MPI_T_VERBOSITY_MPIDEV_DETAIL, "mpidev_detail"},
    {MPI_T_VERBOSITY_MPIDEV_ALL, "mpidev_all"},
};

static const struct word classes[] = {
    {MPI_T_PVAR_CLASS_STATE, "state"},
    {MPI_T_PVAR_CLASS_LEVEL, "level"},
    {MPI_T_PVAR_CLASS_SIZE, "size"},
    {MPI_T_PVAR_CLASS_PERCENTAGE, "percentage"},
    {MPI_T_PVAR_CLASS_HIGHWATERMARK, "highwatermark"},
    {MPI_T_PVAR_CLASS_LOWWATERMARK, "lowwatermark"},
    {MPI_T_PVAR_CLASS_COUNTER, "counter"},
    {MPI_T_PVAR_CLASS_AGGREGATE, "aggregate"},
    {MPI_T_PVAR_CLASS_TIMER, "timer"},
    {MPI_T_PVAR_CLASS_GENERIC, "generic"},
};

static const struct word scopes[] = {
    {MPI_T_SCOPE_CONSTANT, "constant"}, {MPI_T_SCOPE_READONLY, "readonly"},
    {MPI_T_SCOPE_LOCAL, "local"},       {MPI_T_SCOPE_GROUP, "group"},
    {MPI_T_SCOPE_GROUP_EQ, "group_eq"}, {MPI_T_SCOPE_ALL, "all"},
    {MPI_T_SCOPE_ALL_EQ, "all_eq"},
};

static const struct word bindings[] = {
    {MPI_T_BIND_NO_OBJECT, "none"},
    {MPI_T_BIND_MPI_COMM, "comm"},
    {MPI_T_BIND_MPI_DATATYPE, "datatype"},
    {MPI_T_BIND_MPI_ERRHANDLER, "errhandler"},
    {MPI_T_BIND_MPI_FILE, "file"},
    {MPI_T_BIND_MPI_GROUP, "group"},
    {MPI_T_BIND_MPI_OP, "op"},
    {MPI_T_BIND_MPI_REQUEST, "request"},
    {MPI_T_BIND_MPI_WIN, "win"},
    {MPI_T_BIND_MPI_MESSAGE, "message"},
    {MPI_T_BIND_MPI_INFO, "info"},
};

#define FIND(words, number) find_word(words, sizeof(words) / sizeof *(words), number)

static const char *find_word(const struct word *words, size_t count, int number)
{
    size_t i = 0;
    while (i < count && words[i].number != number)
        i++;
    return i < count ? words[i].text : "?";
}

const char *variable_verbosity_name(int verbosity)
{
    return FIND(verbosities, verbosity);
}

const char *variable_class_name(int var_class)
{
    return FIND(classes, var_class);
}

const char *variable_scope_name(int scope)
{
    return FIND(scopes, scope);
}

const char *variable_binding_name(int binding)
{
    return FIND(bindings, binding);
}

/* ---- Variables that cannot be read ----------------------------------------------------------- */

/* The functions PMPI_T_… access only the variables of the library, bypassing all layers. */

static bool is_chosen(int index, const char *patterns)
{
    int length = 0;
    if (PMPI_T_cvar_get_info(index, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL) !=
        MPI_SUCCESS)
        return false;
    char *name = qmpi_allocate((size_t)length + 1, 1);
    PMPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    const bool chosen = qmpi_value_matches_patterns(patterns, name, false);
    free(name);
    return chosen;
}

static struct variable_early_value read_early_value(int index)
{
    struct variable_early_value value = {NULL, 0};
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    MPI_T_cvar_handle handle;
    int bind = MPI_T_BIND_NO_OBJECT;
    PMPI_T_cvar_get_info(index, NULL, NULL, NULL, &datatype, NULL, NULL, NULL, &bind, NULL);
    const struct variable_type *type = variable_type_of(datatype);
    if (!type || bind != MPI_T_BIND_NO_OBJECT ||
        PMPI_T_cvar_handle_alloc(index, NULL, &handle, &value.count) != MPI_SUCCESS)
        return value;
    value.data = variable_make_room(type, value.count);
    if (PMPI_T_cvar_read(handle, value.data) != MPI_SUCCESS) {
        free(value.data);
        value.data = NULL;
    }
    PMPI_T_cvar_handle_free(&handle);
    return value;
}

void variable_early_read(struct variable_early *early, const char *patterns)
{
    int count = 0;
    if (PMPI_T_cvar_get_num(&count) != MPI_SUCCESS)
        return;
    early->values = qmpi_allocate((size_t)count + 1, sizeof *early->values);
    early->count = count;
    for (int i = 0; i < count; i++) {
        if (is_chosen(i, patterns))
            early->values[i] = read_early_value(i);
    }
}

void variable_early_clear(struct variable_early *early)
{
    for (int i = 0; early->values && i < early->count; i++)
        free(early->values[i].data);
    free(early->values);
    early->values = NULL;
}

static bool exists_in_library(int index)
{
    return PMPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
           MPI_SUCCESS;
}

bool variable_early_has_lost(struct variable_early *early)
{
    for (int i = 0; !early->lost && i < early->count; i++)
        early->lost = !exists_in_library(i);
    return early->lost;
}

bool variable_early_find(const struct variable_early *early, const char *name,
                         struct variable_early_value *value)
{
    int index = -1;
    if (!early->lost || PMPI_T_cvar_get_index(name, &index) != MPI_SUCCESS)
        return false;
    const bool known = early->values && index >= 0 && index < early->count;
    *value = known ? early->values[index] : (struct variable_early_value){NULL, 0};
    return true;
}

bool variable_early_allows(const struct variable_early *early, const char *name, int var_class,
                           const char *globs)
{
    int index;
    return !early->lost || qmpi_value_lists_name(globs, name) ||
           PMPI_T_pvar_get_index(name, var_class, &index) != MPI_SUCCESS;
}
