/* SPDX-License-Identifier: MIT */
/*
 * The memory that threads record in: chunks of a fixed size, of which there are as many as the
 * option `memory` allows. A thread takes a free one, fills it, and hands it over to the writer,
 * which gives it back. Nothing here takes a lock or uses malloc.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_CHUNKS_H
#define QMPI_TOOL_TRACE_RECORD_CHUNKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recorder;

/* A call that was in progress when a chunk was begun. */
struct chunk_call {
    uint64_t ticks;
    uint32_t site;
    uint16_t function;
};
enum { CHUNK_SIZE = 64 * 1024, CHUNK_CALLS = 16 };

struct chunk {
    unsigned char *_Atomic at; /* end of what has been recorded; written by the thread alone */
    unsigned char *end;        /* of the room */
    struct recorder *recorder;
    uint32_t location, stream;
    uint32_t sequence; /* among those of the recorder */
    uint64_t closed;   /* handed over at */
    int64_t thread_id; /* of the kernel */
    bool ends;         /* the thread has ended: nothing follows in the location */
    uint64_t dropped;  /* before it, from `dropped_from` on */
    uint64_t dropped_from;
    uint64_t waited, waited_from;         /* for it, in ticks; 0: not at all */
    uint64_t begun;                       /* at */
    int call_count;                       /* in progress when it was begun, */
    struct chunk_call calls[CHUNK_CALLS]; /* the outermost first */
    unsigned char *read;                  /* the writer has read up to here */
    struct chunk *next;                   /* in the queue, or in a list of the writer */
    uint32_t number;                      /* in the pool */
    _Atomic uint32_t next_free;           /* number + 1; 0: none */
    _Alignas(64) unsigned char data[];
};

struct chunk_pool {
    uint32_t most;
    struct chunk *_Atomic *all; /* [number] */
    atomic_uint made;
    _Atomic uint64_t free_list;  /* a counter, and the number + 1 of the first one */
    atomic_uint free_count;      /* in that list */
    atomic_uint handed_over;     /* and not given back yet */
    atomic_uint returns;         /* how often one was given back */
    atomic_uint waiting;         /* threads that wait for that */
    struct chunk *_Atomic queue; /* handed over, the last one first */
};

/* `memory`: bytes. False: memory is exhausted. */
bool chunk_pool_make(struct chunk_pool *pool, uint64_t memory);

/* Returns an empty chunk; NULL: there is none, or memory is exhausted. Any thread, also in a signal
 * handler; the same holds for the functions below. */
struct chunk *chunk_take(struct chunk_pool *pool);

/* Gives back a chunk that nothing refers to. */
void chunk_give_back(struct chunk_pool *pool, struct chunk *chunk);

/* Waits until a chunk is given back, after it was given back `returns` times; at most for a second.
 */
void chunk_wait(struct chunk_pool *pool, unsigned returns);

/* Hands a chunk over to the writer. */
void chunk_hand_over(struct chunk_pool *pool, struct chunk *chunk);

/* Whether so many are handed over that the writer must not wait any longer. A few at a time take
 * less time, and fewer of the processors' moments. */
bool chunk_pool_is_filling(const struct chunk_pool *pool);

/* How many chunks can still be taken. */
uint32_t chunk_pool_room(const struct chunk_pool *pool);

/* Takes all that have been handed over, the first one first. For the writer. */
struct chunk *chunk_queue_take(struct chunk_pool *pool);

/* A chunk without room, where a thread has none. */
extern struct chunk chunk_none;

#endif
