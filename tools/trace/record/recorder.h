/* SPDX-License-Identifier: MIT */
/*
 * What one level of one thread records for one layer (see toolkit/thread_state.h): the chunk that
 * it fills, the calls in progress, and what it has looked up last. Recording takes no lock.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_RECORDER_H
#define QMPI_TOOL_TRACE_RECORD_RECORDER_H

#include "layer.h"
#include "record/raw.h"

struct recorder {
    struct chunk *_Atomic chunk; /* never NULL */
    uint64_t switches;           /* the state of the layer's, seen last, if it records; else 0 */
    struct flights flights;
    struct layer *layer;
    uint64_t comm_word, comm_changes; /* the communicator of the last call: its handle, and */
    uint32_t comm;                    /* index; comm_word 0: none */
    uint64_t type_word, type_size;    /* of a predefined datatype; 0: none */
    uint64_t derived_word;            /* a datatype that is not predefined; 0: none */
    atomic_uint location, stream;     /* valid if has_location is set */
    _Atomic int64_t thread_id;        /* the same */
    atomic_bool has_location;
    uint32_t sequence; /* of the next chunk */
    bool region_ends;  /* with it, recording ends */
    bool is_mute;      /* what a call does is followed, and not recorded */
    bool interrupts;   /* made by calls that interrupt the recording of another one */
    uint64_t state;    /* the state of the switches that the stream tells of */
    bool is_off;       /* it tells that recording is off */
    uint64_t dropped, dropped_from;
    uint64_t request, request_end; /* numbers for requests */
    uint64_t sampled;              /* counters were read at */
    struct leavings leavings;
    struct site_cache *site_cache;
    struct recorder *next; /* of the layer */
};

/* The recorders of one level of one thread, by layer. */
struct recorder_row {
    struct thread_level level;
    struct recorder *by_layer[256];
    atomic_uint locations[256]; /* + 1; of first levels */
};

/* To be called in `init`. */
void recorders_start(void);

/* The recorder of a level, which thread_level_enter gave, for a layer; NULL: memory is exhausted.
 */
struct recorder *recorder_make(struct thread_level *level, struct layer *layer);
static inline struct recorder *recorder_at(struct thread_level *level, struct layer *layer)
{
    struct recorder_row *row = (struct recorder_row *)level;
    struct recorder *recorder = row ? row->by_layer[layer->tool_id] : NULL;
    return __builtin_expect(recorder != NULL, 1) ? recorder : recorder_make(level, layer);
}

/* Gives the thread, and this level of it, their numbers, if they have none. */
void recorder_find_location(struct recorder *recorder);

/* Begins another chunk, and returns room in it; NULL: the record is dropped. May wait. */
void *recorder_next_chunk(struct recorder *recorder, size_t size);

/* Room for a record of `size` bytes; NULL: it is dropped. */
static inline void *recorder_room(struct recorder *recorder, size_t size)
{
    struct chunk *chunk = atomic_load_explicit(&recorder->chunk, memory_order_relaxed);
    unsigned char *at = atomic_load_explicit(&chunk->at, memory_order_relaxed);
    return __builtin_expect((size_t)(chunk->end - at) >= size, 1)
               ? at
               : recorder_next_chunk(recorder, size);
}

/* The record that recorder_room gave room for is complete. */
static inline void recorder_publish(struct recorder *recorder, size_t size)
{
    struct chunk *chunk = atomic_load_explicit(&recorder->chunk, memory_order_relaxed);
    unsigned char *at = atomic_load_explicit(&chunk->at, memory_order_relaxed);
    atomic_store_explicit(&chunk->at, at + size, memory_order_release);
}

/* Hands over what has been recorded, so that it can be written. */
void recorder_hand_over(struct recorder *recorder, bool ends);

/* A number for a request: no other one of the process has it. */
uint64_t recorder_new_request(struct recorder *recorder);

/* ---- Records --------------------------------------------------------------------------------- */

/* What a flight's `number` tells. */
static inline uint64_t recorder_number(int function, uint32_t site)
{
    return (uint64_t)(unsigned)function | (uint64_t)site << 32;
}
static inline uint16_t recorder_function(uint64_t number)
{
    return (uint16_t)number;
}
static inline uint32_t recorder_site(uint64_t number)
{
    return (uint32_t)(number >> 32);
}

/* RAW_CALL, RAW_OPEN, RAW_CLOSE, RAW_LEFT. `number`: that of the flight. */
static inline void recorder_put(struct recorder *recorder, enum raw_kind kind, uint64_t number,
                                uint64_t ticks, uint64_t end)
{
    struct raw_head *head = recorder_room(recorder, sizeof *head);
    if (__builtin_expect(!head, 0))
        return;
    *head = (struct raw_head){.ticks = ticks,
                              .end = end,
                              .site = recorder_site(number),
                              .function = recorder_function(number),
                              .kind = (uint8_t)kind};
    recorder_publish(recorder, sizeof *head);
}

/* An event. Not of a recorder that is mute. */
void recorder_put_event(struct recorder *recorder, const struct trace_event *event);

#endif
