/* SPDX-License-Identifier: MIT */
/* See decode.h. */
#include "trace/decode.h"

#include <stdlib.h>

bool trace_events_head_read(struct trace_events_head *head, struct trace_stack *stack,
                            const void *bytes, size_t size)
{
    struct trace_input input = trace_input_of(bytes, size);
    head->location = (uint32_t)trace_take_limited(&input, UINT32_MAX - 1);
    head->stream = (uint32_t)trace_take_limited(&input, UINT32_MAX);
    head->number = trace_take_varint(&input);
    head->events = trace_take_limited(&input, UINT64_MAX - head->number);
    head->first = trace_take_varint(&input);
    head->last = head->first + trace_take_limited(&input, UINT64_MAX - head->first);
    return !input.failed && head->events &&
           (!stack || trace_stack_take(stack, &input, head->first, head->number));
}

bool trace_decoder_begin(struct trace_decoder *decoder, const struct trace_events_head *head,
                         const void *body, size_t size)
{
    struct trace_input input = trace_input_of(body, size);
    struct trace_model *model = &decoder->model;
    uint64_t sizes[4];
    for (int i = 0; i < 4; i++)
        sizes[i] = trace_take_varint(&input);
    decoder->codes = trace_take_part(&input, sizes[0]);
    decoder->times = trace_take_part(&input, sizes[1]);
    decoder->values = trace_take_part(&input, sizes[2]);
    decoder->requests = trace_take_part(&input, sizes[3]);
    decoder->ticks = head->first;
    decoder->last = head->last;
    decoder->left = head->events;
    if (input.failed || sizes[0] != head->events)
        return false;
    if (!model->shapes)
        model->shapes = malloc(TRACE_SHAPES * sizeof *model->shapes);
    if (!model->shapes)
        return false;
    trace_model_begin(model);
    return true;
}

void trace_decoder_free(struct trace_decoder *decoder)
{
    free(decoder->model.shapes);
    decoder->model.shapes = NULL;
}

/* A shape that differs from the last one of its kind. Fields that this version does not know are
 * skipped. */
static bool read_shape(struct trace_decoder *decoder, union trace_shape *shape)
{
    struct trace_input *values = &decoder->values;
    struct trace_model *model = &decoder->model;
    const uint32_t kind = (uint32_t)trace_take_limited(values, TRACE_KINDS_MAX - 1);
    const uint32_t differ = (uint32_t)trace_take_limited(values, FIELD(REQUEST) - 1);
    *shape = model->shapes[model->last_of_kind[kind]];
    shape->is.kind = kind;
    for (uint32_t field = 0; field < TRACE_FIELD_REQUEST; field++) {
        if (!(differ & UINT32_C(1) << field))
            continue;
        const uint64_t difference = (uint64_t)trace_take_signed(values);
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

/* What does not apply to a kind is not in its shape. */
static void set_shape(struct trace_event *event, const union trace_shape *shape, uint32_t fields)
{
    trace_event_clear(event, (enum trace_kind)shape->is.kind, event->ticks);
#define SET(member, field)                                                                         \
    if (fields & FIELD(field))                                                                     \
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

/* Finds the shape of the next event. */
static bool read_code(struct trace_decoder *decoder, uint32_t context, uint32_t *index)
{
    struct trace_model *model = &decoder->model;
    union trace_shape shape;
    switch (*decoder->codes.at++) {
    case TRACE_CODE_LONG:
        *index = model->after_long[context];
        break;
    case TRACE_CODE_SHORT:
        *index = model->after_short[model->last];
        break;
    case TRACE_CODE_KNOWN:
        *index = (uint32_t)trace_take_limited(&decoder->values, TRACE_SHAPES - 1);
        break;
    case TRACE_CODE_NEW:
        if (!read_shape(decoder, &shape))
            return false;
        *index = trace_model_add(model);
        model->shapes[*index] = shape;
        return true;
    default:
        return false;
    }
    return trace_model_has(model, *index);
}

bool trace_decode(struct trace_decoder *decoder, struct trace_event *event)
{
    struct trace_model *model = &decoder->model;
    const uint32_t context = trace_model_context(model);
    uint32_t index;
    if (!decoder->left || decoder->codes.at == decoder->codes.end ||
        !read_code(decoder, context, &index))
        return false;
    const union trace_shape *shape = &model->shapes[index];
    const uint32_t kind = shape->is.kind, fields = decoder->fields[kind];
    trace_model_note(model, context, index, kind);
    const uint64_t passed = trace_take_varint(&decoder->times);
    if (passed > decoder->last - decoder->ticks)
        return false;
    event->ticks = decoder->ticks += passed;
    /* A later version may tell more of a kind, which is read, and ignored. */
    const uint32_t known = kind < TRACE_KINDS ? fields & trace_kind_fields[kind] : 0;
    set_shape(event, shape, known);
    if (fields & FIELD(REQUEST)) {
        uint64_t *last = trace_model_request(model, fields);
        const uint64_t request = *last + 1 + (uint64_t)trace_take_signed(&decoder->requests);
        if (request != TRACE_NO_REQUEST)
            *last = request;
        if (known & FIELD(REQUEST))
            event->request = request;
    }
    if (fields & FIELD(VALUE)) {
        model->value ^= trace_take_word(&decoder->values);
        if (known & FIELD(VALUE))
            memcpy(&event->value, &model->value, sizeof event->value);
    }
    if (decoder->times.failed || decoder->values.failed || decoder->requests.failed)
        return false;
    decoder->left--;
    return true;
}
