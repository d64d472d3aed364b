/* SPDX-License-Identifier: MIT */
/* See arguments.h. */
#include "arguments.h"

#include "handles.h"
#include "lengths.h"
#include "toolkit/toolkit.h"
#include "values.h"

#include <string.h>

/* One argument of a call. */
struct argument {
    struct frame *frame;
    const QMPIX_Parameter *parameter;
    int place;
    enum direction direction;
    enum length length;
    const void *pointer; /* where it leads to, if it is a pointer */
    struct value value;
};

/* Inlined: the structure is not copied then. */
__attribute__((always_inline)) static inline struct argument
argument_of(struct layer *layer, const QMPIX_Call *call, const struct shape *shape, int place)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[place];
    struct argument argument = {
        .parameter = parameter,
        .place = place,
        .direction = shape->shown[place].direction,
        .length = shape->shown[place].length,
        .value = {layer, call, shape, parameter->kind, shape->shown[place].how,
                  values_size(parameter), false, place, parameter->size},
    };
    if (parameter->kind == QMPIX_KIND_FUNCTION || parameter->indirection)
        QMPIX_Call_get_argument(call, place, &argument.pointer);
    return argument;
}

static bool is_array(const struct argument *argument)
{
    return argument->parameter->is_array || argument->length != LENGTH_ONE;
}

static long long length(const struct argument *argument)
{
    return length_of(argument->value.layer, argument->value.call, argument->value.shape,
                     argument->place);
}

static void open_hole(const struct argument *argument, struct hole hole)
{
    struct frame *frame = argument->frame;
    hole.parameter = argument->place;
    frame->holes[frame->hole_count++] = hole;
}

/* ---- Before the call ------------------------------------------------------------------------- */

static bool add_strings(struct text *text, const struct argument *argument)
{
    struct layer *layer = argument->value.layer;
    const char *pointer = argument->pointer;
    const int indirection = argument->parameter->indirection;
    const bool everywhere =
        argument->length != LENGTH_OF_ROOT && argument->length != LENGTH_STRINGS_ROOT;
    if (!everywhere && !length_is_at_root(layer, argument->value.call, argument->value.shape))
        return false;
    if (indirection == 1)
        return values_add_string(text, layer, pointer);
    if (indirection == 3 && !tool_safe_copy(&pointer, argument->pointer, sizeof pointer))
        return false;
    const bool ends = argument->length == LENGTH_STRINGS || argument->length == LENGTH_STRINGS_ROOT;
    const long long count = ends ? -1 : length(argument);
    return (ends || count >= 0) &&
           values_add_strings(text, layer, (char *const *)(const void *)pointer, count);
}

/* Room for a single value, of this tool or of the program. */
union single {
    MPI_Status status;
    unsigned char bytes[64];
};

/* The value of the program at `from`. */
static void add_converted(struct text *text, const struct argument *argument, const void *from)
{
    union single value;
    values_convert(&argument->value, from, 1, &value);
    values_add(text, &argument->value, &value);
}

/* False: it cannot be read, or not yet be told how long it is. */
static bool add_read(struct text *text, const struct argument *argument)
{
    union single raw;
    if (argument->value.kind == QMPIX_KIND_CHAR)
        return add_strings(text, argument);
    if (is_array(argument)) {
        const long long count = length(argument);
        return count >= 0 && values_add_array(text, &argument->value, argument->pointer, count);
    }
    if (!argument->value.program_size || argument->value.size > sizeof raw ||
        !tool_safe_copy(&raw, argument->pointer, argument->value.program_size))
        return false;
    add_converted(text, argument, &raw);
    return true;
}

static void add_in(struct text *text, const struct argument *argument)
{
    const size_t begin = text->length;
    if (add_read(text, argument))
        return;
    text_pointer(text, argument->pointer);
    if (argument->value.shape->is_sized)
        open_hole(argument,
                  (struct hole){.place = begin, .skip = text->length - begin, .is_deferred = true});
}

static uint64_t bytes_of(const struct argument *argument)
{
    uint64_t bytes = 0;
    if (!is_array(argument) && argument->value.program_size <= sizeof bytes)
        tool_safe_copy(&bytes, argument->pointer, argument->value.program_size);
    return bytes;
}

static void add_before(struct text *text, const struct argument *argument)
{
    const QMPIX_Parameter *parameter = argument->parameter;
    const bool is_pointer = parameter->kind == QMPIX_KIND_FUNCTION || parameter->indirection;
    const char *name =
        is_pointer
            ? handles_address((enum address)argument->value.shape->shown[argument->place].address,
                              parameter, argument->pointer)
            : NULL;
    if (!is_pointer) {
        union single value;
        QMPIX_Call_get_argument(argument->value.call, argument->place, &value);
        values_add(text, &argument->value, &value);
    } else if (name) {
        text_string(text, name);
    } else if (!argument->pointer || argument->direction == DIRECTION_ADDRESS ||
               parameter->kind == QMPIX_KIND_FUNCTION) {
        text_pointer(text, argument->pointer);
    } else if (argument->direction == DIRECTION_OUT) {
        open_hole(argument, (struct hole){.place = text->length, .skip = 1});
        text_char(text, '?');
    } else {
        add_in(text, argument);
        if (argument->direction == DIRECTION_INOUT)
            open_hole(argument, (struct hole){.place = text->length, .before = bytes_of(argument)});
    }
}

void arguments_begin(struct frame *frame, const QMPIX_Call *call)
{
    struct layer *layer = frame->layer;
    struct text *text = &frame->text;
    const struct shape *shape = shape_of(call->function);
    if (!shape || !layer->options.arguments) {
        text_string(text, call->function->name);
        text_string(text, "(...)");
        return;
    }
    text_add(text, shape->name.text, shape->name.length);
    for (int i = 0; i < shape->count; i++) {
        struct argument argument = argument_of(layer, call, shape, i);
        argument.frame = frame;
        text_add(text, shape->shown[i].label.text, shape->shown[i].label.length);
        if (argument.parameter->kind != QMPIX_KIND_PCONTROL_WORDS)
            add_before(text, &argument);
    }
    text_string(text, shape->count ? ")" : "()");
}

/* ---- After the call -------------------------------------------------------------------------- */

struct termination {
    const struct frame *frame;
    bool succeeded, in_status;
};

/* The values of MPI's own attributes are where the pointer leads to. */
static void add_attribute(struct text *text, const struct argument *argument)
{
    const QMPIX_Call *call = argument->value.call;
    int keyval = MPI_KEYVAL_INVALID;
    const void *value;
    QMPIX_Call_get_argument(call, 1, &keyval);
    memcpy(&value, argument->pointer, sizeof value);
    const bool is_int = keyval == MPI_TAG_UB || keyval == MPI_HOST || keyval == MPI_IO ||
                        keyval == MPI_WTIME_IS_GLOBAL || keyval == MPI_UNIVERSE_SIZE ||
                        keyval == MPI_LASTUSEDCODE || keyval == MPI_APPNUM ||
                        keyval == MPI_WIN_DISP_UNIT || keyval == MPI_WIN_CREATE_FLAVOR ||
                        keyval == MPI_WIN_MODEL;
    if (value && (is_int || keyval == MPI_WIN_SIZE)) {
        text_char(text, '&');
        text_number(text, length_number(value, is_int ? sizeof(int) : sizeof(MPI_Aint)));
    } else {
        text_pointer(text, value);
    }
}

/* Whether there was room for the string when the call began. */
static bool has_room(const struct argument *argument)
{
    const int room = argument->value.shape->shown[argument->place].string_of;
    for (int i = 0; room >= 0 && i < argument->frame->hole_count; i++) {
        if (argument->frame->holes[i].parameter == room)
            return length_number(&argument->frame->holes[i].before, sizeof(int)) > 0;
    }
    return room < 0;
}

static void add_written(struct text *text, const struct argument *argument)
{
    const void *pointer = argument->pointer;
    if (argument->value.kind == QMPIX_KIND_CHAR) {
        if (!has_room(argument) || !values_add_string(text, argument->value.layer, pointer))
            text_pointer(text, pointer);
    } else if (argument->value.kind == QMPIX_KIND_BUFFER) {
        if (!strcmp(argument->parameter->name, "attribute_val"))
            add_attribute(text, argument);
        else
            text_pointer(text, *(void *const *)pointer);
    } else if (is_array(argument)) {
        const long long count = length(argument);
        if (count < 0 || !values_add_array(text, &argument->value, pointer, count))
            text_char(text, '?');
    } else if (argument->value.size) {
        add_converted(text, argument, pointer);
    } else {
        text_pointer(text, pointer);
    }
}

/* Of a call that found nothing, what it would have written has no value. */
static bool has_value(const struct argument *argument)
{
    const struct shape *shape = argument->value.shape;
    const QMPIX_Call *call = argument->value.call;
    const char *name = argument->parameter->name;
    if (shape->flag < 0 || shape->flag == argument->place || !strcmp(name, "index"))
        return true;
    const int *flag = *(const int *const *)call->arguments[shape->flag];
    return !flag || *flag;
}

static void add_new_value(struct text *text, const struct argument *argument, uint64_t before)
{
    const QMPIX_Kind kind = argument->value.kind;
    const size_t size = argument->value.program_size;
    uint64_t now = 0, value = 0;
    if (is_array(argument)) {
        text_string(text, " => ");
        add_written(text, argument);
        return;
    }
    memcpy(&now, argument->pointer, size < sizeof now ? size : sizeof now);
    if (now == before || argument->value.size > sizeof value)
        return;
    values_convert(&argument->value, &now, 1, &value);
    /* That what is freed or waited for is gone goes without saying. */
    if (handles_is_null(kind, &value, argument->value.size) ||
        (argument->value.how == HOW_KEYVAL && (int)value == MPI_KEYVAL_INVALID))
        return;
    text_string(text, " => ");
    values_add(text, &argument->value, &value);
}

/* Returns how much of what stands in the hole is replaced. */
static size_t fill(struct text *text, const struct termination *termination,
                   const struct hole *hole, struct argument *argument)
{
    if (hole->is_deferred)
        return termination->succeeded && add_read(text, argument) ? hole->skip : 0;
    if (argument->direction == DIRECTION_INOUT) {
        if (termination->succeeded)
            add_new_value(text, argument, hole->before);
    } else if (!termination->succeeded && !termination->in_status) {
        text_pointer(text, argument->pointer);
    } else if (has_value(argument)) {
        add_written(text, argument);
    } else {
        text_char(text, '?');
    }
    return hole->skip;
}

/* A signal's handler may call functions of MPI_T only, and may have interrupted MPI: that is not
 * asked then. What they return is the class. */
static bool may_ask(const struct frame *frame, const QMPIX_Call *call)
{
    return call->function->group != QMPIX_GROUP_TOOL_INFORMATION || !frames_parent(frame);
}

static void add_class(struct text *text, int class)
{
    const char *name = words_error(class);
    if (name)
        text_string(text, name);
    else
        text_number(text, class);
}

/* The result as this tool has it: error codes are converted. Success is the same everywhere. */
static int error_of(const QMPIX_Call *call)
{
    int error = *(const int *)call->result;
    if (error != MPI_SUCCESS)
        QMPIX_Call_get_result(call, &error);
    return error;
}

static void add_result(struct text *text, const struct frame *frame, const QMPIX_Call *call,
                       const struct shape *shape)
{
    struct layer *layer = frame->layer;
    text_string(text, " = ");
    if (!shape) {
        text_char(text, '?');
    } else if (shape->has_error && !may_ask(frame, call)) {
        add_class(text, error_of(call));
    } else if (shape->has_error) {
        values_add_error(text, layer, error_of(call), true);
    } else {
        const QMPIX_Kind kind = call->function->result;
        const bool is_int = kind == QMPIX_KIND_INT || kind == QMPIX_KIND_FINT;
        const size_t size = is_int ? sizeof(int) : sizeof(int64_t);
        const struct value value = {layer, call, shape, kind, HOW_NUMBER, size, false, -1, size};
        union single result = {.bytes = {0}};
        QMPIX_Call_get_result(call, &result);
        values_add(text, &value, &result);
    }
}

void arguments_end(struct text *text, const struct frame *frame, const QMPIX_Call *call)
{
    struct layer *layer = frame->layer;
    const struct shape *shape = shape_of(call->function);
    const int result = shape && shape->has_error ? error_of(call) : MPI_SUCCESS;
    const struct termination termination = {
        frame,
        result == MPI_SUCCESS,
        result != MPI_SUCCESS && may_ask(frame, call) &&
            values_error_class(layer, result) == MPI_ERR_IN_STATUS,
    };
    size_t at = 0;
    for (int i = 0; i < frame->hole_count; i++) {
        const struct hole *hole = &frame->holes[i];
        struct argument argument = argument_of(layer, call, shape, hole->parameter);
        argument.frame = (struct frame *)(uintptr_t)frame;
        argument.value.in_status = termination.in_status;
        text_add(text, frame->text.data + at, hole->place - at);
        at = hole->place + fill(text, &termination, hole, &argument);
    }
    text_add(text, frame->text.data + at, frame->text.length - at);
    add_result(text, frame, call, shape);
}
