/* SPDX-License-Identifier: MIT */
/*
 * What the encoder and the decoder of a block remember of its earlier events, in the same way: the
 * shapes of events (all members but time, request and value), and which shape followed last on the
 * same shapes before. Programs repeat themselves, so that most shapes are as predicted.
 */
#ifndef QMPI_TRACE_MODEL_H
#define QMPI_TRACE_MODEL_H

#include "trace/event.h"
#include "trace/kinds.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TRACE_SHAPES 4096   /* that are remembered; the oldest is replaced by a new one */
#define TRACE_CONTEXTS 4096 /* TRACE_CONTEXT_BITS bits */
#define TRACE_CONTEXT_BITS 12

/* How the shape of an event is given. */
enum trace_code {
    TRACE_CODE_LONG,  /* as predicted by the last seven or so */
    TRACE_CODE_SHORT, /* as predicted by the last one */
    TRACE_CODE_KNOWN, /* its index is in the values */
    TRACE_CODE_NEW    /* its kind and its fields are in the values */
};

/* Members that do not apply to `kind` are 0. */
union trace_shape {
    struct {
        uint32_t kind, function, site, comm, object;
        int32_t peer, tag, root;
        uint64_t bytes, received;
    } is;
    uint64_t words[6];
};

struct trace_model {
    union trace_shape *shapes; /* [TRACE_SHAPES] */
    uint32_t added;            /* how many shapes there were */
    uint32_t last;             /* index of the last shape */
    uint32_t history;          /* a hash of the last shapes: older ones are shifted out */
    uint16_t after_long[TRACE_CONTEXTS], after_short[TRACE_SHAPES];
    uint16_t last_of_kind[256];
    uint64_t begun, completed; /* requests: the last ones */
    uint64_t value;            /* of the last counter, as bits */
};

/* Begins a block; `shapes` stays. */
static inline void trace_model_begin(struct trace_model *model)
{
    union trace_shape *shapes = model->shapes;
    memset(model, 0, sizeof *model);
    model->shapes = shapes;
    memset(shapes, 0, sizeof *shapes);
}

static inline uint32_t trace_model_context(const struct trace_model *model)
{
    return (model->history * UINT32_C(0x9e3779b1)) >> (32 - TRACE_CONTEXT_BITS);
}

static inline bool trace_model_has(const struct trace_model *model, uint32_t index)
{
    return index < TRACE_SHAPES && index < model->added;
}

/* Returns the index of a new shape. */
static inline uint32_t trace_model_add(struct trace_model *model)
{
    return model->added++ % TRACE_SHAPES;
}

/* An event has the shape `index`; `context` is that before it. */
static inline void trace_model_note(struct trace_model *model, uint32_t context, uint32_t index,
                                    uint32_t kind)
{
    model->after_long[context] = (uint16_t)index;
    model->after_short[model->last] = (uint16_t)index;
    model->last_of_kind[kind] = (uint16_t)index;
    model->last = index;
    model->history = (model->history << 5) + index + 1;
}

/* The last request that was begun, or completed, by an event with these fields. */
static inline uint64_t *trace_model_request(struct trace_model *model, uint32_t fields)
{
    return fields & FIELD(BEGINS) ? &model->begun : &model->completed;
}

#endif
