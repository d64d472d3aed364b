/* SPDX-License-Identifier: MIT */
/* See values.h. What a program points to is copied first: it may be wrong. */
#include "values.h"

#include "handles.h"
#include "lengths.h"
#include "toolkit/toolkit.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Not where the log's own work was interrupted: that may be a question to MPI. */
static bool can_ask(struct layer *layer)
{
    return atomic_load(&layer->begun) && !atomic_load(&layer->ended) && !thread_level_interrupts();
}

int values_error_class(struct layer *layer, int code)
{
    int class = code;
    if (code != MPI_SUCCESS && can_ask(layer))
        PMPI_Error_class(code, &class);
    return class;
}

/* MPICH's lines begin with the place in its source: "internal_Send(78): ". */
static const char *skip_place(const char *line)
{
    const char *end = line;
    while (isalnum((unsigned char)*end) || *end == '_')
        end++;
    if (*end++ != '(')
        return line;
    end += strspn(end, "0123456789");
    if (*end++ != ')')
        return line;
    end += strspn(end, ".");
    return end[0] == ':' && end[1] == ' ' && end[2] ? end + 2 : line;
}

/* Open MPI's begin with the name of the error's class: "MPI_ERR_RANK: ". */
static const char *skip_name(const char *line, const char *name)
{
    const size_t length = name ? strlen(name) : 0;
    return length && !strncmp(line, name, length) && line[length] == ':' && line[length + 1] == ' '
               ? line + length + 2
               : line;
}

/* Where MPI tells how it came to the error, the last line says most. */
static void add_explanation(struct text *text, int code, const char *name)
{
    char message[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (PMPI_Error_string(code, message, &length) != MPI_SUCCESS || length <= 0 ||
        length > MPI_MAX_ERROR_STRING)
        return;
    while (length && message[length - 1] == '\n')
        length--;
    message[length] = '\0';
    const char *last = strrchr(message, '\n');
    text_string(text, " (");
    text_string(text, skip_name(skip_place(last ? last + 1 : message), name));
    text_char(text, ')');
}

void values_add_error(struct text *text, struct layer *layer, int code, bool explained)
{
    const int class = values_error_class(layer, code);
    const char *name = words_error(class);
    if (name)
        text_string(text, name);
    if (!name || (class != code && !explained)) {
        text_string(text, name ? "(" : "");
        text_number(text, code);
        text_string(text, name ? ")" : "");
    }
    if (explained && code != MPI_SUCCESS && can_ask(layer))
        add_explanation(text, code, name);
}

/* ---- Statuses -------------------------------------------------------------------------------- */

/* In units of the call's datatype if it has one. */
static void add_count(struct text *text, const struct value *value, const MPI_Status *status)
{
    MPI_Count bytes = 0, size = 0;
    MPI_Datatype datatype;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    if (value->shape->datatype >= 0 && value->call->result &&
        QMPIX_Call_get_argument(value->call, value->shape->datatype, &datatype) == MPI_SUCCESS)
        PMPI_Type_size_x(datatype, &size);
    const bool counts = size > 0 && bytes >= 0 && bytes % size == 0;
    text_string(text, counts ? "count=" : "bytes=");
    if (bytes == MPI_UNDEFINED)
        text_string(text, "MPI_UNDEFINED");
    else
        text_number(text, counts ? bytes / size : bytes);
}

static void add_status(struct text *text, const struct value *value, const void *from)
{
    MPI_Status status;
    int cancelled = 0;
    memcpy(&status, from, sizeof status);
    if (value->shape->completes && value->call->result && can_ask(value->layer))
        PMPI_Test_cancelled(&status, &cancelled);
    if (cancelled) {
        text_string(text, "{cancelled}");
        return;
    }
    text_char(text, '{');
    if (value->in_status && status.MPI_ERROR == MPI_ERR_PENDING) {
        text_string(text, "error=MPI_ERR_PENDING}"); /* the rest has no value */
        return;
    }
    if (value->shape->has_status) {
        text_string(text, "source=");
        words_add(text, HOW_RANK, status.MPI_SOURCE);
        text_string(text, ", tag=");
        words_add(text, HOW_TAG, status.MPI_TAG);
        text_string(text, ", ");
    }
    if (value->in_status) {
        text_string(text, "error=");
        values_add_error(text, value->layer, status.MPI_ERROR, false);
        text_string(text, ", ");
    }
    if (can_ask(value->layer))
        add_count(text, value, &status);
    else
        text_string(text, "...");
    text_char(text, '}');
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void add_integer(struct text *text, const struct value *value, const void *from)
{
    const long long number = length_number(from, value->size);
    if (value->how == HOW_ERROR && value->call->result)
        values_add_error(text, value->layer, (int)number, false);
    else
        words_add(text, value->how, number);
}

/* The rows of MPI_Group_range_incl. */
static void add_row(struct text *text, const struct value *value, const void *from)
{
    for (size_t at = 0; at < value->size; at += sizeof(int)) {
        text_string(text, at ? ", " : "[");
        text_number(text, length_number((const char *)from + at, sizeof(int)));
    }
    text_char(text, ']');
}

static void add_handle(struct text *text, const struct value *value, const void *from)
{
    const char *name = handles_name(value->kind, from, value->size);
    if (name) {
        text_string(text, name);
        return;
    }
    objects_add_name(&value->layer->objects, text, value->kind, from, value->size);
    text_handle(text, from, value->size);
}

void values_add(struct text *text, const struct value *value, const void *from)
{
    double real;
    switch (value->kind) {
    case QMPIX_KIND_INT:
    case QMPIX_KIND_AINT:
    case QMPIX_KIND_COUNT:
    case QMPIX_KIND_OFFSET:
    case QMPIX_KIND_FINT:
        if (value->kind == QMPIX_KIND_INT && value->size > sizeof(int))
            add_row(text, value, from);
        else
            add_integer(text, value, from);
        break;
    case QMPIX_KIND_DOUBLE:
        memcpy(&real, from, sizeof real);
        text_real(text, real);
        break;
    case QMPIX_KIND_STATUS:
        add_status(text, value, from);
        break;
    default:
        add_handle(text, value, from);
    }
}

void values_convert(const struct value *value, const void *raw, long long count, void *values)
{
    QMPIX_Call_convert_elements(value->call, value->place, raw, (int)count, values);
}

bool values_add_array(struct text *text, const struct value *value, const void *from,
                      long long count)
{
    char few[1024];
    const long long most = value->layer->options.array;
    const long long shown = most && count > most ? most : count;
    const size_t bytes = (size_t)shown * value->size;
    const size_t program_bytes = (size_t)shown * value->program_size;
    char *copy = bytes > sizeof few ? malloc(bytes) : few;
    char *raw = copy ? copy + bytes - program_bytes : NULL;
    const bool good =
        copy && shown >= 0 && shown <= INT_MAX && tool_safe_copy(raw, from, program_bytes);
    if (good) {
        values_convert(value, raw, shown, copy);
        text_char(text, '[');
        for (long long i = 0; i < shown; i++) {
            text_string(text, i ? ", " : "");
            values_add(text, value, copy + (size_t)i * value->size);
        }
        text_string(text, shown < count ? ", ...]" : "]");
    }
    if (copy != few)
        free(copy);
    return good;
}

/* ---- Strings --------------------------------------------------------------------------------- */

bool values_add_string(struct text *text, struct layer *layer, const char *from)
{
    enum { LONG = 65536 };
    char few[256];
    const size_t most = layer->options.strings ? (size_t)layer->options.strings : LONG;
    size_t length = 0;
    char *copy = most + 1 > sizeof few ? malloc(most + 1) : few;
    const bool good = copy && tool_safe_copy_string(copy, from, most + 1, &length);
    if (good)
        text_quoted(text, copy, length > most ? most : length, length > most);
    if (copy != few)
        free(copy);
    return good;
}

bool values_add_strings(struct text *text, struct layer *layer, char *const *from, long long count)
{
    const long long most = layer->options.array ? layer->options.array : 65536;
    const size_t length = text->length;
    char *string;
    text_char(text, '[');
    for (long long i = 0; count < 0 || i < count; i++) {
        if (!tool_safe_copy(&string, from + i, sizeof string)) {
            text->length = length;
            return false;
        }
        if (count < 0 && !string)
            break;
        text_string(text, i ? ", " : "");
        if (i == most) {
            text_string(text, "...");
            break;
        }
        if (!string || !values_add_string(text, layer, string))
            text_pointer(text, string);
    }
    text_char(text, ']');
    return true;
}
