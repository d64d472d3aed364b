/* SPDX-License-Identifier: MIT */
/* See values.h. Data that the program points to is copied before it is used, because the pointer
 * may be invalid. */
#include "tools/log/values.h"

#include "standard/standard.h"
#include "toolkit/toolkit.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

long long values_integer(const void *from, size_t size)
{
    int small = 0;
    long long large = 0;
    if (size == sizeof small) {
        memcpy(&small, from, size);
        return small;
    }
    memcpy(&large, from, size < sizeof large ? size : sizeof large);
    return large;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static uintptr_t handle_at(const void *from, size_t size)
{
    uintptr_t handle = 0;
    memcpy(&handle, from, size < sizeof handle ? size : sizeof handle);
    return handle;
}

bool values_is_null(QMPIX_Kind kind, const void *from, size_t size)
{
    return standard_is_null(kind, handle_at(from, size));
}

/* Appends the names of the bits of a value, combined with `|`, and the remaining bits as a
 * number. */
static void add_bits(struct text *text, QMPIX_Constants constants, long long value)
{
    const char *name;
    long long bit;
    bool any = false;
    while ((name = standard_find_bit(constants, value, &bit))) {
        text_string(text, any ? "|" : "");
        text_string(text, name);
        value &= ~bit;
        any = true;
    }
    if (value || !any) {
        text_string(text, any ? "|" : "");
        text_number(text, value);
    }
}

static void add_constant(struct text *text, QMPIX_Constants constants, long long value)
{
    if (standard_is_bits(constants)) {
        add_bits(text, constants, value);
        return;
    }
    const char *name = standard_find_constant(constants, value);
    if (constants == QMPIX_CONSTANTS_BOOLEAN && (value == 0 || value == 1))
        name = value ? "true" : "false";
    if (name)
        text_string(text, name);
    else
        text_number(text, value);
}

/* Returns the name of a predefined callback. The callbacks of attributes have different names for
 * each kind of object. */
static const char *callback_name(const QMPIX_Parameter *parameter, const void *address)
{
    static const struct {
        const char *type; /* the beginning of the type's name */
        const char *names[3];
    } kinds[] = {
        {"MPI_Comm_", {"MPI_COMM_NULL_COPY_FN", "MPI_COMM_DUP_FN", "MPI_COMM_NULL_DELETE_FN"}},
        {"MPI_Type_", {"MPI_TYPE_NULL_COPY_FN", "MPI_TYPE_DUP_FN", "MPI_TYPE_NULL_DELETE_FN"}},
        {"MPI_Win_", {"MPI_WIN_NULL_COPY_FN", "MPI_WIN_DUP_FN", "MPI_WIN_NULL_DELETE_FN"}},
        {"", {"MPI_NULL_COPY_FN", "MPI_DUP_FN", "MPI_NULL_DELETE_FN"}},
    };
    const uintptr_t number = (uintptr_t)address;
    size_t kind = 0;
    while (strncmp(kinds[kind].type, parameter->type, strlen(kinds[kind].type)) != 0)
        kind++;
    if (strstr(parameter->name, "copy") && number <= 1)
        return kinds[kind].names[number];
    if (strstr(parameter->name, "delete") && !number)
        return kinds[kind].names[2];
    return strstr(parameter->name, "conversion") && !number ? "MPI_CONVERSION_FN_NULL" : NULL;
}

static const char *name_if(bool is_constant, const char *name)
{
    return is_constant ? name : NULL;
}

const char *values_address_name(QMPIX_Constants constants, const QMPIX_Parameter *parameter,
                                bool is_array, const void *address)
{
    if (constants == QMPIX_CONSTANTS_COLLECTIVE_BUFFER && address == MPI_IN_PLACE)
        return "MPI_IN_PLACE";
    if (constants == QMPIX_CONSTANTS_COLLECTIVE_BUFFER || constants == QMPIX_CONSTANTS_BUFFER)
        return name_if(address == MPI_BOTTOM, "MPI_BOTTOM");
    if (constants == QMPIX_CONSTANTS_WEIGHTS && address == MPI_UNWEIGHTED)
        return "MPI_UNWEIGHTED";
    if (constants == QMPIX_CONSTANTS_WEIGHTS)
        return name_if(address == MPI_WEIGHTS_EMPTY, "MPI_WEIGHTS_EMPTY");
    if (constants == QMPIX_CONSTANTS_ERROR && is_array)
        return name_if(address == MPI_ERRCODES_IGNORE, "MPI_ERRCODES_IGNORE");
    if (parameter->kind == QMPIX_KIND_FUNCTION)
        return callback_name(parameter, address);
    if (parameter->kind == QMPIX_KIND_STATUS)
        return is_array ? name_if(address == MPI_STATUSES_IGNORE, "MPI_STATUSES_IGNORE")
                        : name_if(address == MPI_STATUS_IGNORE, "MPI_STATUS_IGNORE");
    if (parameter->kind == QMPIX_KIND_CHAR && parameter->indirection == 3 && parameter->is_array)
        return name_if(address == MPI_ARGVS_NULL, "MPI_ARGVS_NULL");
    return NULL;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Returns whether MPI can be asked. It must be initialized and not finalized, and the log's own
 * work must not have been interrupted, because that work may be a call to MPI. */
static bool can_query(struct layer *layer)
{
    return atomic_load(&layer->begun) && !atomic_load(&layer->ended) && !thread_level_interrupts();
}

int values_error_class(struct layer *layer, int code)
{
    int class = code;
    if (code != MPI_SUCCESS && can_query(layer))
        QMPIX_Error_class(code, &class);
    return class;
}

/* Skips a prefix such as "internal_Send(78): ". Each line of MPICH's descriptions of errors begins
 * with such a position in its source. */
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

/* Skips the name of the error class, such as "MPI_ERR_RANK: ". Open MPI's lines begin with it. */
static const char *skip_name(const char *line, const char *name)
{
    const size_t length = name ? strlen(name) : 0;
    return length && !strncmp(line, name, length) && line[length] == ':' && line[length + 1] == ' '
               ? line + length + 2
               : line;
}

/* Appends the last line of MPI's description of an error. If MPI describes in several lines how the
 * error arose, this line is the most specific one. */
static void add_explanation(struct text *text, int code, const char *name)
{
    char message[MPI_MAX_ERROR_STRING + 1] = "";
    int class, length = 0;
    if (QMPIX_Error_class(code, &class) != MPI_SUCCESS ||
        PMPI_Error_string(code, message, &length) != MPI_SUCCESS || length <= 0 ||
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

void values_add_class(struct text *text, int class)
{
    add_constant(text, QMPIX_CONSTANTS_ERROR, class);
}

void values_add_error(struct text *text, struct layer *layer, int code, bool explained)
{
    const int class = values_error_class(layer, code);
    const char *name = standard_find_constant(QMPIX_CONSTANTS_ERROR, class);
    if (name)
        text_string(text, name);
    if (!name || (class != code && !explained)) {
        text_string(text, name ? "(" : "");
        text_number(text, code);
        text_string(text, name ? ")" : "");
    }
    if (explained && code != MPI_SUCCESS && can_query(layer))
        add_explanation(text, code, name);
}

/* ---- Statuses -------------------------------------------------------------------------------- */

/* Appends the amount of data in units of the call's datatype, or in bytes. The size of the datatype
 * is not asked for if there are no bytes or the call has failed, because the datatype may be
 * invalid then. */
static void add_count(struct text *text, const struct value *value, const MPI_Status *status)
{
    MPI_Count bytes = 0, size = 0;
    MPI_Datatype datatype;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    if (value->shape->datatype >= 0 && value->call->result && bytes > 0 &&
        argument_result_is_success(value->call) &&
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
    if (value->shape->completes && value->call->result && can_query(value->layer))
        PMPI_Test_cancelled(&status, &cancelled);
    if (cancelled) {
        text_string(text, "{cancelled}");
        return;
    }
    text_char(text, '{');
    if (value->in_status && status.MPI_ERROR == MPI_ERR_PENDING) {
        text_string(text, "error=MPI_ERR_PENDING}"); /* The other members have no value. */
        return;
    }
    if (value->shape->has_status) {
        text_string(text, "source=");
        add_constant(text, QMPIX_CONSTANTS_RANK, status.MPI_SOURCE);
        text_string(text, ", tag=");
        add_constant(text, QMPIX_CONSTANTS_TAG, status.MPI_TAG);
        text_string(text, ", ");
    }
    if (value->in_status) {
        text_string(text, "error=");
        values_add_error(text, value->layer, status.MPI_ERROR, false);
        text_string(text, ", ");
    }
    if (can_query(value->layer))
        add_count(text, value, &status);
    else
        text_string(text, "...");
    text_char(text, '}');
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void add_integer(struct text *text, const struct value *value, const void *from)
{
    const long long number = values_integer(from, value->size);
    if (value->constants == QMPIX_CONSTANTS_ERROR && value->call->result)
        values_add_error(text, value->layer, (int)number, false);
    else
        add_constant(text, value->constants, number);
}

/* Appends a row of integers, as in the ranges of MPI_Group_range_incl. */
static void add_row(struct text *text, const struct value *value, const void *from)
{
    for (size_t at = 0; at < value->size; at += sizeof(int)) {
        text_string(text, at ? ", " : "[");
        text_number(text, values_integer((const char *)from + at, sizeof(int)));
    }
    text_char(text, ']');
}

static void add_handle(struct text *text, const struct value *value, const void *from)
{
    const char *name = standard_find_handle(value->kind, handle_at(from, value->size));
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
