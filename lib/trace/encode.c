/* SPDX-License-Identifier: MIT */
/*
 * See encode.h. The events of a block are in four columns, which compress better than one: a code
 * for each event, times, the values of new shapes, and requests. Adding an event looks at two
 * predictions (model.h), and then at one entry of a hash table: it allocates only when a column
 * grows.
 */
#define _GNU_SOURCE
#include "trace/encode.h"

#include "trace/block.h"
#include "trace/bytes.h"
#include "trace/kinds.h"
#include "trace/model.h"
#include "trace/stack.h"

#include <stdlib.h>

#define HASH_BITS 13
#define HASH_SIZE (1 << HASH_BITS)

/* The most that one event adds to a column: a code, and varints for the kind, the fields that
 * differ and each of them. */
#define EVENT_MAX ((TRACE_SHAPE_FIELDS + 2) * TRACE_VARINT_MAX)

enum column { CODES, TIMES, VALUES, REQUESTS, COLUMNS };

struct trace_encoder {
    uint32_t location, stream;
    bool compress;
    struct trace_model model;
    struct trace_bytes columns[COLUMNS];
    struct trace_stack stack;
    struct trace_bytes head; /* of the block: the calls in progress at its beginning */
    struct trace_bytes body; /* used when a block is finished */
    uint64_t number;         /* of the next event in the stream */
    uint64_t first_number;   /* of the first event of the block */
    uint64_t first, last;    /* ticks, of the block */
    uint64_t too_deep;       /* calls in progress that are not recorded */
    uint16_t by_hash[HASH_SIZE];
    union trace_shape masks[TRACE_KINDS]; /* 0: does not apply */
};

static void make_mask(union trace_shape *mask, uint32_t fields)
{
#define MASK(member, field) mask->is.member = fields & FIELD(field) ? ~mask->is.member : 0
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

struct trace_encoder *trace_encoder_make(uint32_t location, uint32_t stream, bool compress)
{
    struct trace_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    encoder->model.shapes = malloc(TRACE_SHAPES * sizeof *encoder->model.shapes);
    if (!encoder->model.shapes) {
        free(encoder);
        return NULL;
    }
    encoder->location = location;
    encoder->stream = stream;
    encoder->compress = compress;
    for (int kind = 0; kind < TRACE_KINDS; kind++)
        make_mask(&encoder->masks[kind], trace_kind_fields[kind]);
    trace_model_begin(&encoder->model);
    return encoder;
}

void trace_encoder_free(struct trace_encoder *encoder)
{
    if (!encoder)
        return;
    for (int i = 0; i < COLUMNS; i++)
        trace_bytes_free(&encoder->columns[i]);
    trace_bytes_free(&encoder->head);
    trace_bytes_free(&encoder->body);
    trace_stack_free(&encoder->stack);
    free(encoder->model.shapes);
    free(encoder);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static inline void get_shape(union trace_shape *shape, const struct trace_event *event,
                             const union trace_shape *mask)
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

static inline bool is_shape(const struct trace_model *model, uint32_t index,
                            const union trace_shape *shape)
{
    const union trace_shape *other = &model->shapes[index];
    uint64_t difference = 0;
    for (int i = 0; i < 6; i++)
        difference |= shape->words[i] ^ other->words[i];
    return !difference && trace_model_has(model, index);
}

static inline uint32_t hash(const union trace_shape *shape)
{
    uint64_t value = 0;
    for (int i = 0; i < 6; i++)
        value = (value ^ shape->words[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ value >> 29;
    return (uint32_t)((value ^ value >> 32) * UINT32_C(0x85ebca6b)) >> (32 - HASH_BITS);
}

/* Writes what differs from the last shape of the same kind. */
static unsigned char *write_shape(unsigned char *at, const union trace_shape *shape,
                                  const union trace_shape *base)
{
    unsigned char fields[TRACE_SHAPE_FIELDS * TRACE_VARINT_MAX], *end = fields;
    uint32_t differ = 0;
#define WRITE(member, field)                                                                       \
    if (shape->is.member != base->is.member) {                                                     \
        differ |= FIELD(field);                                                                    \
        end = trace_write_varint(                                                                  \
            end, trace_zigzag((int64_t)((uint64_t)shape->is.member - (uint64_t)base->is.member))); \
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
    at = trace_write_varint(at, shape->is.kind);
    at = trace_write_varint(at, differ);
    memcpy(at, fields, (size_t)(end - fields));
    return at + (end - fields);
}

/* A shape that was not as predicted: known, or new. */
static uint32_t add_shape(struct trace_encoder *encoder, const union trace_shape *shape,
                          unsigned char *code)
{
    struct trace_model *model = &encoder->model;
    struct trace_bytes *values = &encoder->columns[VALUES];
    uint16_t *entry = &encoder->by_hash[hash(shape)];
    unsigned char *at = values->data + values->size;
    uint32_t index = *entry;
    if (is_shape(model, index, shape)) {
        *code = TRACE_CODE_KNOWN;
        at = trace_write_varint(at, index);
    } else {
        *code = TRACE_CODE_NEW;
        at = write_shape(at, shape, &model->shapes[model->last_of_kind[shape->is.kind]]);
        index = trace_model_add(model);
        model->shapes[index] = *shape;
        *entry = (uint16_t)index;
    }
    values->size = (size_t)(at - values->data);
    return index;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Whether an event begins or ends a call that is not recorded: see stack.h. */
static bool is_too_deep(struct trace_encoder *encoder, uint32_t kind)
{
    if (kind == TRACE_ENTER && encoder->stack.depth == TRACE_DEPTH_MAX) {
        encoder->too_deep++;
        return true;
    }
    if ((kind != TRACE_LEAVE && kind != TRACE_INTERRUPTED) || !encoder->too_deep)
        return false;
    encoder->too_deep--;
    return true;
}

/* Notes what the head of the block tells that begins with this event. */
static bool begin_block(struct trace_encoder *encoder, uint64_t ticks)
{
    encoder->first_number = encoder->number;
    encoder->first = ticks;
    encoder->last = ticks;
    encoder->head.size = 0;
    return trace_stack_put(&encoder->stack, &encoder->head, ticks, encoder->number);
}

bool trace_encode(struct trace_encoder *encoder, const struct trace_event *event)
{
    struct trace_model *model = &encoder->model;
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
    if (!trace_stack_note(&encoder->stack, event, ticks, encoder->number))
        return false;

    union trace_shape shape;
    get_shape(&shape, event, &encoder->masks[kind]);
    const uint32_t context = trace_model_context(model);
    uint32_t index = model->after_long[context];
    unsigned char code = TRACE_CODE_LONG;
    if (!is_shape(model, index, &shape)) {
        index = model->after_short[model->last];
        code = TRACE_CODE_SHORT;
        if (!is_shape(model, index, &shape))
            index = add_shape(encoder, &shape, &code);
    }
    trace_model_note(model, context, index, kind);
    columns[CODES].data[columns[CODES].size++] = code;

    unsigned char *at = columns[TIMES].data + columns[TIMES].size;
    at = trace_write_varint(at, ticks - encoder->last);
    columns[TIMES].size = (size_t)(at - columns[TIMES].data);
    encoder->last = ticks;
    const uint32_t fields = trace_kind_fields[kind];
    if (fields & FIELD(REQUEST)) {
        uint64_t *last = trace_model_request(model, fields);
        at = columns[REQUESTS].data + columns[REQUESTS].size;
        at = trace_write_varint(at, trace_zigzag((int64_t)(event->request - *last - 1)));
        columns[REQUESTS].size = (size_t)(at - columns[REQUESTS].data);
        if (event->request != TRACE_NO_REQUEST)
            *last = event->request;
    }
    if (fields & FIELD(VALUE)) {
        uint64_t value;
        memcpy(&value, &event->value, sizeof value);
        trace_write_word(columns[VALUES].data + columns[VALUES].size, value ^ model->value, 8);
        columns[VALUES].size += 8;
        model->value = value;
    }
    encoder->number++;
    return true;
}

size_t trace_encoder_size(const struct trace_encoder *encoder)
{
    size_t size = 0;
    for (int i = 0; i < COLUMNS; i++)
        size += encoder->columns[i].size;
    return size;
}

bool trace_encoder_finish(struct trace_encoder *encoder, struct trace_bytes *out)
{
    struct trace_bytes *body = &encoder->body, head = {0};
    if (encoder->number == encoder->first_number)
        return true;
    body->size = 0;
    for (int i = 0; i < COLUMNS; i++)
        trace_put_varint(body, encoder->columns[i].size);
    for (int i = 0; i < COLUMNS; i++)
        trace_put_bytes(body, encoder->columns[i].data, encoder->columns[i].size);
    trace_put_varint(&head, encoder->location);
    trace_put_varint(&head, encoder->stream);
    trace_put_varint(&head, encoder->first_number);
    trace_put_varint(&head, encoder->number - encoder->first_number);
    trace_put_varint(&head, encoder->first);
    trace_put_varint(&head, encoder->last - encoder->first);
    trace_put_bytes(&head, encoder->head.data, encoder->head.size);
    trace_put_block(out, TRACE_BLOCK_EVENTS, encoder->compress, &head, body);
    trace_bytes_free(&head);
    const bool is_added = !out->failed;
    for (int i = 0; i < COLUMNS; i++)
        encoder->columns[i].size = 0;
    encoder->first_number = encoder->number;
    body->failed = false;
    trace_model_begin(&encoder->model);
    memset(encoder->by_hash, 0, sizeof encoder->by_hash);
    return is_added;
}
