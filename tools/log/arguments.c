/* SPDX-License-Identifier: MIT */
/* See arguments.h. */
#include "tools/log/arguments.h"

#include "toolkit/toolkit.h"
#include "tools/log/shape.h"
#include "tools/log/values.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* ---- The lengths of arrays ------------------------------------------------------------------- */

/* Reads an argument that is an integer or points to an integer. Returns false if it cannot be
 * read. */
static bool read_integer(const QMPIX_Call *call, int parameter, long long *number)
{
    const QMPIX_Parameter *described = &call->function->parameters[parameter];
    unsigned char bytes[sizeof *number];
    const void *from = call->arguments[parameter];
    if (described->size > sizeof bytes)
        return false;
    if (described->indirection) {
        from = *(const void *const *)from;
        if (!from || !tool_safe_copy(bytes, from, described->size))
            return false;
        from = bytes;
    }
    *number = values_integer(from, described->size);
    return true;
}

/* Reads element `i` of an array of integers whose last element or sum is the length of another
 * array. Returns false if it cannot be read. */
static bool read_element(const QMPIX_Call *call, int parameter, long long i, long long *number)
{
    const size_t size = call->function->parameters[parameter].size;
    const char *array = *(const char *const *)call->arguments[parameter];
    unsigned char bytes[sizeof *number];
    if (!array || i < 0 || size > sizeof bytes ||
        !tool_safe_copy(bytes, array + (size_t)i * size, size))
        return false;
    *number = values_integer(bytes, size);
    return true;
}

static long long last_element(const QMPIX_Call *call, int array, long long count)
{
    long long last;
    return read_element(call, array, count - 1, &last) ? last : -1;
}

static long long sum_of_elements(const QMPIX_Call *call, int array, long long count)
{
    enum { MOST = 4096 }; /* The sum of a longer array would take too much time. */
    long long sum = 0, element;
    for (long long i = 0; i < count; i++) {
        if (count > MOST || !read_element(call, array, i, &element) || element < 0)
            return -1;
        sum += element;
    }
    return sum;
}

/* Returns the communicator that is passed to the call. */
static MPI_Comm call_comm(const QMPIX_Call *call, const struct shape *shape)
{
    MPI_Comm comm = MPI_COMM_NULL;
    QMPIX_Call_get_argument(call, shape->comm, &comm);
    return comm;
}

/* Returns whether this process is the root of the call. Also returns true if the function has no
 * root or no communicator, and false if the processes of the communicator are not known. */
static bool is_at_root(struct layer *layer, const QMPIX_Call *call, const struct shape *shape)
{
    struct object_processes processes;
    if (shape->root < 0 || shape->comm < 0)
        return true;
    int root;
    QMPIX_Call_get_argument(call, shape->root, &root);
    const MPI_Comm comm = call_comm(call, shape);
    if (!objects_processes(&layer->objects, comm, &processes))
        return false;
    return processes.is_inter ? root == MPI_ROOT : root == processes.rank;
}

static long long length_of_processes(struct layer *layer, const QMPIX_Call *call,
                                     const struct shape *shape, QMPIX_Length length)
{
    struct object_processes processes;
    if (shape->comm < 0 || !objects_processes(&layer->objects, call_comm(call, shape), &processes))
        return -1;
    switch (length) {
    case QMPIX_LENGTH_LOCAL:
        return processes.local;
    case QMPIX_LENGTH_INDEGREE:
        return processes.indegree;
    case QMPIX_LENGTH_OUTDEGREE:
        return processes.outdegree;
    case QMPIX_LENGTH_DIMENSIONS:
        return processes.dimensions;
    default:
        return processes.peers;
    }
}

static long long length_of_graph(const QMPIX_Call *call, const struct shape *shape,
                                 QMPIX_Length length)
{
    int nodes = -1, edges = -1, neighbors = -1;
    const MPI_Comm comm = call_comm(call, shape);
    if (length == QMPIX_LENGTH_NEIGHBORS) {
        long long rank;
        int place;
        if (QMPIX_Call_find_argument(call, "rank", &place) == MPI_SUCCESS &&
            read_integer(call, place, &rank))
            PMPI_Graph_neighbors_count(comm, (int)rank, &neighbors);
        return neighbors;
    }
    PMPI_Graphdims_get(comm, &nodes, &edges);
    return length == QMPIX_LENGTH_NODES ? nodes : edges;
}

static long long length_of_contents(const QMPIX_Call *call, const struct shape *shape,
                                    QMPIX_Length length)
{
    int combiner;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    QMPIX_Call_get_argument(call, shape->datatype, &type);
    const size_t of_length = (size_t)(length - QMPIX_LENGTH_INTEGERS);
#if MPI_VERSION >= 4
    if (call->function->number == MPI_TYPE_GET_CONTENTS_C_T) {
        MPI_Count large[4] = {-1, -1, -1, -1};
        PMPI_Type_get_envelope_c(type, &large[0], &large[1], &large[2], &large[3], &combiner);
        return large[of_length];
    }
#endif
    int small[4] = {-1, -1, -1, -1};
    PMPI_Type_get_envelope(type, &small[0], &small[1], &small[3], &combiner);
    return small[of_length];
}

static long long query_length(struct layer *layer, const QMPIX_Call *call,
                              const struct shape *shape, QMPIX_Length length)
{
    if (length >= QMPIX_LENGTH_PEERS && length <= QMPIX_LENGTH_DIMENSIONS)
        return length_of_processes(layer, call, shape, length);
    if (!call->result || !argument_result_is_success(call))
        return -1; /* The handle may be invalid. */
    return length >= QMPIX_LENGTH_INTEGERS ? length_of_contents(call, shape, length)
                                           : length_of_graph(call, shape, length);
}

/* A status in Fortran is an array that has as many integers as a status in C. */
static long long length_of_status(const QMPIX_Call *call)
{
    for (int i = 0; i < call->function->parameter_count; i++) {
        if (call->function->parameters[i].kind == QMPIX_KIND_STATUS)
            return (long long)(call->function->parameters[i].size / sizeof(int));
    }
    return -1;
}

/* Returns the number of elements of array `parameter`, or -1 if the length is unknown or nothing is
 * to be shown. If MPI must be asked for the length, it is known only in `after` and only if the
 * call has succeeded. */
static long long length_of(struct layer *layer, const QMPIX_Call *call, const struct shape *shape,
                           int parameter)
{
    const QMPIX_Length length = shape->shown[parameter].length;
    const int of = shape->shown[parameter].of;
    long long given = -1;
    const bool needs_root = length == QMPIX_LENGTH_OF_ROOT || length == QMPIX_LENGTH_SUM_ROOT ||
                            length == QMPIX_LENGTH_PEERS_ROOT ||
                            length == QMPIX_LENGTH_STRINGS_ROOT;
    if (needs_root && !is_at_root(layer, call, shape))
        return -1;
    switch (length) {
    case QMPIX_LENGTH_ONE:
        return 1;
    case QMPIX_LENGTH_STATUS:
        return length_of_status(call);
    case QMPIX_LENGTH_OF:
    case QMPIX_LENGTH_OF_ROOT:
        return of >= 0 && read_integer(call, of, &given) ? given : -1;
    case QMPIX_LENGTH_LAST:
        /* The array whose last element is the length has a length of its own. */
        return of < 0 ? -1 : last_element(call, of, length_of(layer, call, shape, of));
    case QMPIX_LENGTH_SUM:
    case QMPIX_LENGTH_SUM_ROOT:
        return of < 0 ? -1 : sum_of_elements(call, of, length_of(layer, call, shape, of));
    default:
        break;
    }
    const long long known = query_length(layer, call, shape, length);
    return of >= 0 && read_integer(call, of, &given) && given < known ? given : known;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* One argument of a call. */
struct argument {
    struct frame *frame;
    const QMPIX_Parameter *parameter;
    int place;
    QMPIX_Direction direction;
    QMPIX_Length length;
    const void *pointer; /* address that the argument points to, if it is a pointer */
    struct value value;
};

/* Returns the size that a value of a parameter has in this tool. The MPI of the program may have
 * other types (values.h). */
static size_t value_size(const QMPIX_Parameter *parameter)
{
    if (parameter->kind == QMPIX_KIND_STATUS)
        return sizeof(MPI_Status);
    return parameter->kind >= QMPIX_KIND_COMM && parameter->kind <= QMPIX_KIND_WIN
               ? sizeof(MPI_Comm)
               : parameter->size;
}

/* The function is inlined so that the structure is not copied. */
__attribute__((always_inline)) static inline struct argument
argument_of(struct layer *layer, const QMPIX_Call *call, const struct shape *shape, int place)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[place];
    struct argument argument = {
        .parameter = parameter,
        .place = place,
        .direction = shape->shown[place].direction,
        .length = shape->shown[place].length,
        .value = {layer, call, shape, parameter->kind,
                  (QMPIX_Constants)shape->shown[place].constants, value_size(parameter), false,
                  place, parameter->size},
    };
    if (parameter->kind == QMPIX_KIND_FUNCTION || parameter->indirection)
        QMPIX_Call_get_argument(call, place, &argument.pointer);
    return argument;
}

static bool is_array(const struct argument *argument)
{
    return argument->parameter->is_array || argument->length != QMPIX_LENGTH_ONE;
}

static long long argument_length(const struct argument *argument)
{
    return length_of(argument->value.layer, argument->value.call, argument->value.shape,
                     argument->place);
}

static void open_hole(const struct argument *argument, struct frame_hole hole)
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
        argument->length != QMPIX_LENGTH_OF_ROOT && argument->length != QMPIX_LENGTH_STRINGS_ROOT;
    if (!everywhere && !is_at_root(layer, argument->value.call, argument->value.shape))
        return false;
    if (indirection == 1)
        return values_add_string(text, layer, pointer);
    if (indirection == 3 && !tool_safe_copy(&pointer, argument->pointer, sizeof pointer))
        return false;
    const bool ends =
        argument->length == QMPIX_LENGTH_STRINGS || argument->length == QMPIX_LENGTH_STRINGS_ROOT;
    const long long count = ends ? -1 : argument_length(argument);
    return (ends || count >= 0) &&
           values_add_strings(text, layer, (char *const *)(const void *)pointer, count);
}

/* This union has room for a single value of this tool or of the program. */
union single {
    MPI_Status status;
    unsigned char bytes[64];
};

/* Appends the program's value at `from`. */
static void add_converted(struct text *text, const struct argument *argument, const void *from)
{
    union single value;
    values_convert(&argument->value, from, 1, &value);
    values_add(text, &argument->value, &value);
}

/* Appends the value that the argument points to. Returns false if it cannot be read or if its
 * length is not known yet. */
static bool add_pointed(struct text *text, const struct argument *argument)
{
    union single raw;
    if (argument->value.kind == QMPIX_KIND_CHAR)
        return add_strings(text, argument);
    if (is_array(argument)) {
        const long long count = argument_length(argument);
        return count >= 0 && values_add_array(text, &argument->value, argument->pointer, count);
    }
    if (!argument->value.program_size || argument->value.size > sizeof raw ||
        !tool_safe_copy(&raw, argument->pointer, argument->value.program_size))
        return false;
    add_converted(text, argument, &raw);
    return true;
}

static void add_input(struct text *text, const struct argument *argument)
{
    const size_t begin = text->length;
    if (add_pointed(text, argument))
        return;
    text_pointer(text, argument->pointer);
    if (argument->value.shape->is_sized)
        open_hole(argument, (struct frame_hole){
                                .place = begin, .skip = text->length - begin, .is_deferred = true});
}

static uint64_t first_bytes(const struct argument *argument)
{
    uint64_t bytes = 0;
    if (!is_array(argument) && argument->value.program_size <= sizeof bytes)
        tool_safe_copy(&bytes, argument->pointer, argument->value.program_size);
    return bytes;
}

static void add_known(struct text *text, const struct argument *argument)
{
    const QMPIX_Parameter *parameter = argument->parameter;
    const bool is_pointer = parameter->kind == QMPIX_KIND_FUNCTION || parameter->indirection;
    const char *name = is_pointer ? values_address_name(argument->value.constants, parameter,
                                                        is_array(argument), argument->pointer)
                                  : NULL;
    if (!is_pointer) {
        union single value;
        QMPIX_Call_get_argument(argument->value.call, argument->place, &value);
        values_add(text, &argument->value, &value);
    } else if (name) {
        text_string(text, name);
    } else if (!argument->pointer || argument->direction == QMPIX_DIRECTION_ADDRESS ||
               parameter->kind == QMPIX_KIND_FUNCTION) {
        text_pointer(text, argument->pointer);
    } else if (argument->direction == QMPIX_DIRECTION_OUT) {
        open_hole(argument, (struct frame_hole){.place = text->length, .skip = 1});
        text_char(text, '?');
    } else {
        add_input(text, argument);
        if (argument->direction == QMPIX_DIRECTION_INOUT)
            open_hole(argument,
                      (struct frame_hole){.place = text->length, .before = first_bytes(argument)});
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
            add_known(text, &argument);
    }
    text_string(text, shape->count ? ")" : "()");
}

/* ---- After the call -------------------------------------------------------------------------- */

struct outcome {
    bool succeeded, in_status;
};

/* The value of a predefined attribute, except MPI_WIN_BASE, is a pointer to the actual number. */
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
        text_number(text, values_integer(value, is_int ? sizeof(int) : sizeof(MPI_Aint)));
    } else {
        text_pointer(text, value);
    }
}

/* Returns whether the caller provided room for the string when the call began. */
static bool has_room(const struct argument *argument)
{
    const int room = argument->value.shape->shown[argument->place].string_of;
    for (int i = 0; room >= 0 && i < argument->frame->hole_count; i++) {
        if (argument->frame->holes[i].parameter == room)
            return values_integer(&argument->frame->holes[i].before, sizeof(int)) > 0;
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
        const long long count = argument_length(argument);
        if (count < 0 || !values_add_array(text, &argument->value, pointer, count))
            text_char(text, '?');
    } else if (argument->value.size) {
        add_converted(text, argument, pointer);
    } else {
        text_pointer(text, pointer);
    }
}

/* Returns whether the call has set the argument. A call whose flag is false leaves its other output
 * arguments without a value, except for `index`. */
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
    /* A handle that the call has freed or completed becomes a null handle, which need not be
     * shown. */
    if (values_is_null(kind, &value, argument->value.size) ||
        (argument->value.constants == QMPIX_CONSTANTS_KEYVAL && (int)value == MPI_KEYVAL_INVALID))
        return;
    text_string(text, " => ");
    values_add(text, &argument->value, &value);
}

/* Fills a hole. Returns the number of bytes of the frame's text that the new text replaces. */
static size_t fill_hole(struct text *text, const struct outcome *outcome,
                        const struct frame_hole *hole, struct argument *argument)
{
    if (hole->is_deferred)
        return outcome->succeeded && add_pointed(text, argument) ? hole->skip : 0;
    if (argument->direction == QMPIX_DIRECTION_INOUT) {
        if (outcome->succeeded)
            add_new_value(text, argument, hole->before);
    } else if (!outcome->succeeded && !outcome->in_status) {
        text_pointer(text, argument->pointer);
    } else if (has_value(argument)) {
        add_written(text, argument);
    } else {
        text_char(text, '?');
    }
    return hole->skip;
}

/* Returns whether MPI may be asked about the error code of the call. It must not be asked in a
 * signal handler that has interrupted MPI. Such a handler may call only functions of MPI_T, whose
 * error code is the error class itself. */
static bool may_query_error(const struct frame *frame, const QMPIX_Call *call)
{
    return call->function->group != QMPIX_GROUP_TOOL_INFORMATION || !frames_parent(frame);
}

/* Returns the error code of the call, converted to the MPI of this tool. MPI_SUCCESS is the same in
 * every MPI and is not converted. */
static int converted_error(const QMPIX_Call *call)
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
    } else if (shape->has_error && !may_query_error(frame, call)) {
        values_add_class(text, converted_error(call));
    } else if (shape->has_error) {
        values_add_error(text, layer, converted_error(call), true);
    } else {
        const QMPIX_Kind kind = call->function->result;
        const bool is_int = kind == QMPIX_KIND_INT || kind == QMPIX_KIND_FINT;
        const size_t size = is_int ? sizeof(int) : sizeof(int64_t);
        const struct value value = {layer, call,  shape, kind, QMPIX_CONSTANTS_NONE,
                                    size,  false, -1,    size};
        union single result = {.bytes = {0}};
        QMPIX_Call_get_result(call, &result);
        values_add(text, &value, &result);
    }
}

void arguments_end(struct text *text, const struct frame *frame, const QMPIX_Call *call)
{
    struct layer *layer = frame->layer;
    const struct shape *shape = shape_of(call->function);
    const int result = shape && shape->has_error ? converted_error(call) : MPI_SUCCESS;
    const struct outcome outcome = {
        result == MPI_SUCCESS,
        result != MPI_SUCCESS && may_query_error(frame, call) &&
            values_error_class(layer, result) == MPI_ERR_IN_STATUS,
    };
    size_t at = 0;
    for (int i = 0; i < frame->hole_count; i++) {
        const struct frame_hole *hole = &frame->holes[i];
        struct argument argument = argument_of(layer, call, shape, hole->parameter);
        argument.frame = (struct frame *)(uintptr_t)frame;
        argument.value.in_status = outcome.in_status;
        text_add(text, frame->text.data + at, hole->place - at);
        at = hole->place + fill_hole(text, &outcome, hole, &argument);
    }
    text_add(text, frame->text.data + at, frame->text.length - at);
    add_result(text, frame, call, shape);
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Returns the index of the parameter that is a request or an array of requests, or -1. */
static int find_request_parameter(const QMPIX_Function *function)
{
    for (int i = 0; i < function->parameter_count; i++) {
        if (function->parameters[i].kind == QMPIX_KIND_REQUEST &&
            function->parameters[i].indirection == 1)
            return i;
    }
    return -1;
}

bool arguments_know_requests(const struct layer_options *options)
{
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        if (!options->chosen[number] &&
            QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS &&
            find_request_parameter(function) >= 0)
            return false;
    }
    return true;
}

/* Makes room for `count` requests. Returns false if memory is exhausted. */
static bool make_request_room(struct frame *frame, int count)
{
    if (count <= frame->request_room)
        return true;
    const int room = count > 2 * frame->request_room ? count : 2 * frame->request_room;
    MPI_Request *requests = qmpi_memory_take((size_t)room * sizeof *requests);
    if (!requests)
        return false;
    frame->requests = requests;
    frame->request_room = room;
    return true;
}

void arguments_save_requests(struct frame *frame, const QMPIX_Call *call)
{
    enum { MOST = 1 << 20 };
    const struct shape *shape = shape_of(call->function);
    if (!shape || shape->request < 0 ||
        shape->shown[shape->request].direction == QMPIX_DIRECTION_OUT)
        return;
    const long long count = length_of(frame->layer, call, shape, shape->request);
    const void *given = *(const void *const *)call->arguments[shape->request];
    if (count <= 0 || count > MOST || !given || !make_request_room(frame, (int)count))
        return;
    /* The program's requests are copied to the end of the room and then converted in place. */
    const size_t size = (size_t)count * call->function->parameters[shape->request].size;
    char *raw = (char *)(frame->requests + count) - size;
    if (tool_safe_copy(raw, given, size) &&
        QMPIX_Call_convert_elements(call, shape->request, raw, (int)count, frame->requests) ==
            MPI_SUCCESS)
        frame->request_count = (int)count;
}

void arguments_follow_requests(struct frame *frame, const QMPIX_Call *call)
{
    struct objects *objects = &frame->layer->objects;
    const struct shape *shape = shape_of(call->function);
    if (!shape || shape->request < 0)
        return;
    MPI_Request now;
    for (int i = 0; i < frame->request_count; i++) {
        if (frame->requests[i] != MPI_REQUEST_NULL &&
            QMPIX_Call_get_elements(call, shape->request, i, 1, &now) == MPI_SUCCESS &&
            now == MPI_REQUEST_NULL)
            objects_forget(objects, QMPIX_KIND_REQUEST, &frame->requests[i], sizeof now);
    }
    if (shape->shown[shape->request].direction == QMPIX_DIRECTION_OUT &&
        *(const int *)call->result == MPI_SUCCESS &&
        QMPIX_Call_get_elements(call, shape->request, 0, 1, &now) == MPI_SUCCESS &&
        now != MPI_REQUEST_NULL)
        objects_made(objects, QMPIX_KIND_REQUEST, &now, sizeof now, call->function->name);
}
