/* SPDX-License-Identifier: MIT */
/* See event_codec.h. */
#define _GNU_SOURCE
#include "tools/trace/file/event_codec.h"

#include "tools/trace/file/block.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

/* ---- Calls in progress ----------------------------------------------------------------------- */

void trace_event_stack_free(struct trace_event_stack *stack)
{
    free(stack->calls);
    *stack = (struct trace_event_stack){0};
}

bool trace_event_stack_push(struct trace_event_stack *stack, struct trace_event_stack_call call)
{
    if (!QMPI_MEMORY_RESERVE(stack->calls, stack->room, stack->depth + 1))
        return false;
    stack->calls[stack->depth++] = call;
    return true;
}

bool trace_event_stack_put(const struct trace_event_stack *stack, struct trace_bytes *out,
                           uint64_t ticks, uint64_t number)
{
    trace_bytes_put_varint(out, stack->depth);
    for (size_t i = 0; i < stack->depth; i++) {
        const struct trace_event_stack_call *call = &stack->calls[i];
        trace_bytes_put_varint(out, call->function);
        trace_bytes_put_varint(out, call->site);
        trace_bytes_put_varint(out, ticks - call->ticks);
        trace_bytes_put_varint(out, number - call->number);
    }
    return !out->failed;
}

bool trace_event_stack_take(struct trace_event_stack *stack, struct trace_bytes_input *input,
                            uint64_t ticks, uint64_t number)
{
    const uint64_t depth = trace_bytes_take_limited(input, TRACE_EVENT_CALLS_MAX);
    stack->depth = 0;
    for (uint64_t i = 0; i < depth && !input->failed; i++) {
        struct trace_event_stack_call call = {
            .function = (uint32_t)trace_bytes_take_limited(input, UINT32_MAX)};
        call.site = (uint32_t)trace_bytes_take_limited(input, UINT32_MAX);
        call.ticks = ticks - trace_bytes_take_limited(input, ticks);
        call.number = number - trace_bytes_take_limited(input, number);
        const struct trace_event_stack_call *outer = i ? &stack->calls[i - 1] : NULL;
        if (call.number == number ||
            (outer && (call.ticks < outer->ticks || call.number <= outer->number)))
            input->failed = true;
        if (!input->failed && !trace_event_stack_push(stack, call))
            return false;
    }
    return !input->failed;
}

bool trace_event_stack_is_valid(const struct trace_process *process, uint32_t unknown,
                                struct trace_event_stack *stack)
{
    for (size_t i = 0; i < stack->depth; i++) {
        if (stack->calls[i].function >= process->function_count)
            stack->calls[i].function = unknown;
        if (stack->calls[i].function == TRACE_NONE)
            return false;
        if (stack->calls[i].site >= process->site_count)
            stack->calls[i].site = TRACE_NONE;
    }
    return true;
}

/* ---- The model ------------------------------------------------------------------------------- */

/*
 * While the encoder and the decoder process a block, both store its earlier events in the same way:
 * the shapes of the events, and for each sequence of shapes the shape that followed it last. A
 * shape consists of the kind and of all fields except request and value. Most shapes are predicted
 * correctly by this, because programs repeat themselves.
 */

#define SHAPES 4096   /* number of shapes that are stored; a new one replaces the oldest */
#define CONTEXTS 4096 /* 2^CONTEXT_BITS */
#define CONTEXT_BITS 12

/* How the shape of an event is encoded. */
enum shape_code {
    CODE_LONG,  /* as predicted from about the last seven shapes */
    CODE_SHORT, /* as predicted from the last shape */
    CODE_KNOWN, /* its index is in the values */
    CODE_NEW    /* its kind and its fields are in the values */
};

/* The shape of an event. Members that do not apply to `kind` are 0. */
union shape {
    struct {
        uint32_t kind, function, site, comm, object;
        int32_t peer, tag, root;
        uint64_t bytes, received;
    } is;
    uint64_t words[6];
};

struct trace_event_model {
    uint32_t added;   /* number of shapes that were added */
    uint32_t last;    /* index of the last shape */
    uint32_t history; /* a hash of the last shapes; older ones are shifted out */
    uint16_t after_long[CONTEXTS], after_short[SHAPES];
    uint16_t last_of_kind[TRACE_KINDS_MAX];
    uint64_t begun, completed; /* the last requests that were begun and completed */
    uint64_t value;            /* value of the last counter, as bits */
    union shape shapes[SHAPES];
};

/* Begins a block. Only the first shape is cleared, because all others are set before they are
 * used. */
static inline void model_begin(struct trace_event_model *model)
{
    memset(model, 0, offsetof(struct trace_event_model, shapes));
    memset(model->shapes, 0, sizeof *model->shapes);
}

static inline uint32_t model_context(const struct trace_event_model *model)
{
    return (model->history * UINT32_C(0x9e3779b1)) >> (32 - CONTEXT_BITS);
}

static inline bool model_has(const struct trace_event_model *model, uint32_t index)
{
    return index < SHAPES && index < model->added;
}

/* Returns the index of a new shape. */
static inline uint32_t model_add(struct trace_event_model *model)
{
    return model->added++ % SHAPES;
}

/* Records that an event has the shape `index`. `context` is the context before the event. */
static inline void model_note(struct trace_event_model *model, uint32_t context, uint32_t index,
                              uint32_t kind)
{
    model->after_long[context] = (uint16_t)index;
    model->after_short[model->last] = (uint16_t)index;
    model->last_of_kind[kind] = (uint16_t)index;
    model->last = index;
    model->history = (model->history << 5) + index + 1;
}

/* Returns a pointer to the last request that was begun, or to the last one that was completed,
 * whichever applies to events with these fields. */
static inline uint64_t *model_request(struct trace_event_model *model, uint32_t fields)
{
    return fields & TRACE_FIELD_BIT(BEGINS) ? &model->begun : &model->completed;
}

/* ---- Encoder --------------------------------------------------------------------------------- */

/*
 * The events of a block are stored in four columns, because this compresses better than one: codes,
 * times, values (of shapes that were not predicted, and of counters), and requests. To add an
 * event, the encoder compares its shape with at most two predictions and one entry of a hash table.
 * It allocates memory only when a column, the head or the stack of calls grows.
 */

#define HASH_BITS 13
#define HASH_SIZE (1 << HASH_BITS)

/* The maximum size of an event in a column: varints for the kind, for the set of fields that
 * differ, and for each of these fields. */
#define EVENT_MAX ((TRACE_SHAPE_FIELDS + 2) * TRACE_VARINT_MAX)

enum column { CODES, TIMES, VALUES, REQUESTS, COLUMNS };

struct trace_event_encoder {
    uint32_t location, stream;
    bool compress;
    struct trace_event_model model;
    struct trace_bytes columns[COLUMNS];
    struct trace_event_stack stack;
    struct trace_bytes head; /* head of the block: the calls in progress at its beginning */
    struct trace_bytes body; /* used when a block is finished */
    uint64_t number;         /* number of the next event in the stream */
    uint64_t first_number;   /* number of the first event of the block */
    uint64_t first, last;    /* the first and last ticks of the block */
    uint64_t too_deep;       /* number of calls in progress that are too deep to be recorded */
    uint16_t by_hash[HASH_SIZE];
    /* By kind; a member has all bits if it applies, otherwise none. */
    union shape masks[TRACE_KINDS];
};

static void make_mask(union shape *mask, uint32_t fields)
{
#define MASK(member, field) mask->is.member = fields & TRACE_FIELD_BIT(field) ? ~mask->is.member : 0
    MASK(function, FUNCTION);
    MASK(site, SITE);
    MASK(comm, COMM);
    MASK(object, OBJECT);
    MASK(peer, PEER);
    MASK(tag, TAG);
    MASK(root, ROOT);
    MASK(bytes, BYTES);
    MASK(received, RECEIVED);
#undef MASK
}

void trace_event_encoder_start(void)
{
    trace_block_open_zstd();
}

struct trace_event_encoder *trace_event_encoder_make(uint32_t location, uint32_t stream,
                                                     bool compress)
{
    struct trace_event_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    encoder->location = location;
    encoder->stream = stream;
    encoder->compress = compress;
    for (int kind = 0; kind < TRACE_KINDS; kind++)
        make_mask(&encoder->masks[kind], trace_event_fields[kind]);
    model_begin(&encoder->model);
    return encoder;
}

void trace_event_encoder_free(struct trace_event_encoder *encoder)
{
    if (!encoder)
        return;
    for (int i = 0; i < COLUMNS; i++)
        trace_bytes_free(&encoder->columns[i]);
    trace_bytes_free(&encoder->head);
    trace_bytes_free(&encoder->body);
    trace_event_stack_free(&encoder->stack);
    free(encoder);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static inline void get_shape(union shape *shape, const struct trace_event *event,
                             const union shape *mask)
{
    shape->is.kind = event->kind;
    shape->is.function = event->function & mask->is.function;
    shape->is.site = event->site & mask->is.site;
    shape->is.comm = event->comm & mask->is.comm;
    shape->is.object = event->object & mask->is.object;
    shape->is.peer = event->peer & mask->is.peer;
    shape->is.tag = event->tag & mask->is.tag;
    shape->is.root = event->root & mask->is.root;
    shape->is.bytes = event->bytes & mask->is.bytes;
    shape->is.received = event->received & mask->is.received;
}

static inline bool is_shape(const struct trace_event_model *model, uint32_t index,
                            const union shape *shape)
{
    const union shape *other = &model->shapes[index];
    uint64_t difference = 0;
    for (int i = 0; i < 6; i++)
        difference |= shape->words[i] ^ other->words[i];
    return !difference && model_has(model, index);
}

static inline uint32_t hash_shape(const union shape *shape)
{
    uint64_t value = 0;
    for (int i = 0; i < 6; i++)
        value = (value ^ shape->words[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ value >> 29;
    return (uint32_t)((value ^ value >> 32) * UINT32_C(0x85ebca6b)) >> (32 - HASH_BITS);
}

/* Writes the differences from the last shape of the same kind. */
static unsigned char *write_shape(unsigned char *at, const union shape *shape,
                                  const union shape *base)
{
    unsigned char fields[TRACE_SHAPE_FIELDS * TRACE_VARINT_MAX], *end = fields;
    uint32_t differ = 0;
#define WRITE(member, field)                                                                       \
    if (shape->is.member != base->is.member) {                                                     \
        differ |= TRACE_FIELD_BIT(field);                                                          \
        end = trace_bytes_write_varint(end,                                                        \
                                       trace_bytes_zigzag((int64_t)((uint64_t)shape->is.member -   \
                                                                    (uint64_t)base->is.member)));  \
    }
    WRITE(function, FUNCTION)
    WRITE(site, SITE)
    WRITE(comm, COMM)
    WRITE(object, OBJECT)
    WRITE(peer, PEER)
    WRITE(tag, TAG)
    WRITE(root, ROOT)
    WRITE(bytes, BYTES)
    WRITE(received, RECEIVED)
#undef WRITE
    at = trace_bytes_write_varint(at, shape->is.kind);
    at = trace_bytes_write_varint(at, differ);
    memcpy(at, fields, (size_t)(end - fields));
    return at + (end - fields);
}

/* Writes a shape that was not predicted to the values, and sets `code` to whether it is known or
 * new. Adds a new shape to the model. Returns the index of the shape. */
static uint32_t add_shape(struct trace_event_encoder *encoder, const union shape *shape,
                          unsigned char *code)
{
    struct trace_event_model *model = &encoder->model;
    struct trace_bytes *values = &encoder->columns[VALUES];
    uint16_t *entry = &encoder->by_hash[hash_shape(shape)];
    unsigned char *at = values->data + values->size;
    uint32_t index = *entry;
    if (is_shape(model, index, shape)) {
        *code = CODE_KNOWN;
        at = trace_bytes_write_varint(at, index);
    } else {
        *code = CODE_NEW;
        at = write_shape(at, shape, &model->shapes[model->last_of_kind[shape->is.kind]]);
        index = model_add(model);
        model->shapes[index] = *shape;
        *entry = (uint16_t)index;
    }
    values->size = (size_t)(at - values->data);
    return index;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Returns whether an event begins or ends a call that is too deep to be recorded. */
static bool is_too_deep(struct trace_event_encoder *encoder, uint32_t kind)
{
    if (kind == TRACE_ENTER && encoder->stack.depth == TRACE_EVENT_CALLS_MAX) {
        encoder->too_deep++;
        return true;
    }
    if ((kind != TRACE_LEAVE && kind != TRACE_INTERRUPTED) || !encoder->too_deep)
        return false;
    encoder->too_deep--;
    return true;
}

/* Begins a block whose first event has these ticks. */
static bool begin_block(struct trace_event_encoder *encoder, uint64_t ticks)
{
    encoder->first_number = encoder->number;
    encoder->first = ticks;
    encoder->last = ticks;
    encoder->head.size = 0;
    return trace_event_stack_put(&encoder->stack, &encoder->head, ticks, encoder->number);
}

bool trace_event_encoder_add(struct trace_event_encoder *encoder, const struct trace_event *event)
{
    struct trace_event_model *model = &encoder->model;
    struct trace_bytes *columns = encoder->columns;
    const uint32_t kind = event->kind;
    uint64_t ticks = event->ticks;
    if (kind >= TRACE_KINDS || is_too_deep(encoder, kind))
        return true;
    if (encoder->number && ticks < encoder->last)
        ticks = encoder->last;
    for (int i = 0; i < COLUMNS; i++)
        if (columns[i].room - columns[i].size < EVENT_MAX &&
            !trace_bytes_reserve(&columns[i], EVENT_MAX)) {
            columns[i].failed = false;
            return false;
        }
    if (!columns[CODES].size && !begin_block(encoder, ticks))
        return false;
    if (!trace_event_stack_note(&encoder->stack, event, ticks, encoder->number))
        return false;

    union shape shape;
    get_shape(&shape, event, &encoder->masks[kind]);
    const uint32_t context = model_context(model);
    uint32_t index = model->after_long[context];
    unsigned char code = CODE_LONG;
    if (!is_shape(model, index, &shape)) {
        index = model->after_short[model->last];
        code = CODE_SHORT;
        if (!is_shape(model, index, &shape))
            index = add_shape(encoder, &shape, &code);
    }
    model_note(model, context, index, kind);
    columns[CODES].data[columns[CODES].size++] = code;

    unsigned char *at = columns[TIMES].data + columns[TIMES].size;
    at = trace_bytes_write_varint(at, ticks - encoder->last);
    columns[TIMES].size = (size_t)(at - columns[TIMES].data);
    encoder->last = ticks;
    const uint32_t fields = trace_event_fields[kind];
    if (fields & TRACE_FIELD_BIT(REQUEST)) {
        uint64_t *last = model_request(model, fields);
        at = columns[REQUESTS].data + columns[REQUESTS].size;
        at =
            trace_bytes_write_varint(at, trace_bytes_zigzag((int64_t)(event->request - *last - 1)));
        columns[REQUESTS].size = (size_t)(at - columns[REQUESTS].data);
        if (event->request != TRACE_NO_REQUEST)
            *last = event->request;
    }
    if (fields & TRACE_FIELD_BIT(VALUE)) {
        uint64_t value;
        memcpy(&value, &event->value, sizeof value);
        trace_bytes_write_word(columns[VALUES].data + columns[VALUES].size, value ^ model->value,
                               8);
        columns[VALUES].size += 8;
        model->value = value;
    }
    encoder->number++;
    return true;
}

size_t trace_event_encoder_size(const struct trace_event_encoder *encoder)
{
    size_t size = 0;
    for (int i = 0; i < COLUMNS; i++)
        size += encoder->columns[i].size;
    return size;
}

bool trace_event_encoder_finish(struct trace_event_encoder *encoder, struct trace_bytes *out)
{
    struct trace_bytes *body = &encoder->body, head = {0};
    if (encoder->number == encoder->first_number)
        return true;
    body->size = 0;
    for (int i = 0; i < COLUMNS; i++)
        trace_bytes_put_varint(body, encoder->columns[i].size);
    for (int i = 0; i < COLUMNS; i++)
        trace_bytes_put(body, encoder->columns[i].data, encoder->columns[i].size);
    trace_bytes_put_varint(&head, encoder->location);
    trace_bytes_put_varint(&head, encoder->stream);
    trace_bytes_put_varint(&head, encoder->first_number);
    trace_bytes_put_varint(&head, encoder->number - encoder->first_number);
    trace_bytes_put_varint(&head, encoder->first);
    trace_bytes_put_varint(&head, encoder->last - encoder->first);
    trace_bytes_put(&head, encoder->head.data, encoder->head.size);
    trace_block_put(out, TRACE_BLOCK_EVENTS, encoder->compress, &head, body);
    trace_bytes_free(&head);
    const bool is_added = !out->failed;
    for (int i = 0; i < COLUMNS; i++)
        encoder->columns[i].size = 0;
    encoder->first_number = encoder->number;
    body->failed = false;
    model_begin(&encoder->model);
    memset(encoder->by_hash, 0, sizeof encoder->by_hash);
    return is_added;
}

/* ---- Decoder --------------------------------------------------------------------------------- */

bool trace_event_decoder_read_head(struct trace_event_decoder_head *head,
                                   struct trace_event_stack *stack, const void *bytes, size_t size)
{
    struct trace_bytes_input input = trace_bytes_to_read(bytes, size);
    head->location = (uint32_t)trace_bytes_take_limited(&input, UINT32_MAX - 1);
    head->stream = (uint32_t)trace_bytes_take_limited(&input, UINT32_MAX);
    head->number = trace_bytes_take_varint(&input);
    head->events = trace_bytes_take_limited(&input, UINT64_MAX - head->number);
    head->first = trace_bytes_take_varint(&input);
    head->last = head->first + trace_bytes_take_limited(&input, UINT64_MAX - head->first);
    return !input.failed && head->events &&
           (!stack || trace_event_stack_take(stack, &input, head->first, head->number));
}

bool trace_event_decoder_begin(struct trace_event_decoder *decoder,
                               const struct trace_event_decoder_head *head, const void *body,
                               size_t size)
{
    struct trace_bytes_input input = trace_bytes_to_read(body, size);
    uint64_t sizes[4];
    for (int i = 0; i < 4; i++)
        sizes[i] = trace_bytes_take_varint(&input);
    decoder->codes = trace_bytes_take_part(&input, sizes[0]);
    decoder->times = trace_bytes_take_part(&input, sizes[1]);
    decoder->values = trace_bytes_take_part(&input, sizes[2]);
    decoder->requests = trace_bytes_take_part(&input, sizes[3]);
    decoder->ticks = head->first;
    decoder->last = head->last;
    decoder->left = head->events;
    if (input.failed || sizes[0] != head->events)
        return false;
    if (!decoder->model)
        decoder->model = malloc(sizeof *decoder->model);
    if (!decoder->model)
        return false;
    model_begin(decoder->model);
    return true;
}

void trace_event_decoder_free(struct trace_event_decoder *decoder)
{
    free(decoder->model);
    decoder->model = NULL;
}

/* Reads a shape as differences from the last one of its kind. Fields that are unknown to this
 * version are skipped. */
static bool read_shape(struct trace_event_decoder *decoder, union shape *shape)
{
    struct trace_bytes_input *values = &decoder->values;
    struct trace_event_model *model = decoder->model;
    const uint32_t kind = (uint32_t)trace_bytes_take_limited(values, TRACE_KINDS_MAX - 1);
    const uint32_t differ =
        (uint32_t)trace_bytes_take_limited(values, TRACE_FIELD_BIT(REQUEST) - 1);
    *shape = model->shapes[model->last_of_kind[kind]];
    shape->is.kind = kind;
    for (uint32_t field = 0; field < TRACE_FIELD_REQUEST; field++) {
        if (!(differ & UINT32_C(1) << field))
            continue;
        const uint64_t difference = (uint64_t)trace_bytes_take_signed(values);
        switch (field) {
#define READ(member, name)                                                                         \
    case TRACE_FIELD_##name:                                                                       \
        shape->is.member = (__typeof__(shape->is.member))(shape->is.member + difference);          \
        break;
            READ(function, FUNCTION)
            READ(site, SITE)
            READ(comm, COMM)
            READ(object, OBJECT)
            READ(peer, PEER)
            READ(tag, TAG)
            READ(root, ROOT)
            READ(bytes, BYTES)
            READ(received, RECEIVED)
#undef READ
        default:
            break;
        }
    }
    return !values->failed;
}

/* Sets the members of an event: `fields` from the shape, and the others (except `ticks`) as
 * trace_event_clear does. */
static void set_shape(struct trace_event *event, const union shape *shape, uint32_t fields)
{
    trace_event_clear(event, (enum trace_event_kind)shape->is.kind, event->ticks);
#define SET(member, field)                                                                         \
    if (fields & TRACE_FIELD_BIT(field))                                                           \
        event->member = shape->is.member;
    SET(function, FUNCTION)
    SET(site, SITE)
    SET(comm, COMM)
    SET(object, OBJECT)
    SET(peer, PEER)
    SET(tag, TAG)
    SET(root, ROOT)
    SET(bytes, BYTES)
    SET(received, RECEIVED)
#undef SET
}

/* Reads the code of the next event, and finds its shape. */
static bool read_code(struct trace_event_decoder *decoder, uint32_t context, uint32_t *index)
{
    struct trace_event_model *model = decoder->model;
    union shape shape;
    switch (*decoder->codes.at++) {
    case CODE_LONG:
        *index = model->after_long[context];
        break;
    case CODE_SHORT:
        *index = model->after_short[model->last];
        break;
    case CODE_KNOWN:
        *index = (uint32_t)trace_bytes_take_limited(&decoder->values, SHAPES - 1);
        break;
    case CODE_NEW:
        if (!read_shape(decoder, &shape))
            return false;
        *index = model_add(model);
        model->shapes[*index] = shape;
        return true;
    default:
        return false;
    }
    return model_has(model, *index);
}

bool trace_event_decoder_next(struct trace_event_decoder *decoder, struct trace_event *event)
{
    struct trace_event_model *model = decoder->model;
    const uint32_t context = model_context(model);
    uint32_t index;
    if (!decoder->left || decoder->codes.at == decoder->codes.end ||
        !read_code(decoder, context, &index))
        return false;
    const union shape *shape = &model->shapes[index];
    const uint32_t kind = shape->is.kind, fields = decoder->fields[kind];
    model_note(model, context, index, kind);
    const uint64_t passed = trace_bytes_take_varint(&decoder->times);
    if (passed > decoder->last - decoder->ticks)
        return false;
    event->ticks = decoder->ticks += passed;
    /* A later version may add fields to a kind, which are read and ignored. */
    const uint32_t known = kind < TRACE_KINDS ? fields & trace_event_fields[kind] : 0;
    set_shape(event, shape, known);
    if (fields & TRACE_FIELD_BIT(REQUEST)) {
        uint64_t *last = model_request(model, fields);
        const uint64_t request = *last + 1 + (uint64_t)trace_bytes_take_signed(&decoder->requests);
        if (request != TRACE_NO_REQUEST)
            *last = request;
        if (known & TRACE_FIELD_BIT(REQUEST))
            event->request = request;
    }
    if (fields & TRACE_FIELD_BIT(VALUE)) {
        model->value ^= trace_bytes_take_word(&decoder->values);
        if (known & TRACE_FIELD_BIT(VALUE))
            memcpy(&event->value, &model->value, sizeof event->value);
    }
    if (decoder->times.failed || decoder->values.failed || decoder->requests.failed)
        return false;
    decoder->left--;
    return true;
}
