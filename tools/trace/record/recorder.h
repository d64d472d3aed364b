/* SPDX-License-Identifier: MIT */
/*
 * A recorder makes records. It belongs to one level of one thread (see toolkit/thread_state.h) and
 * to one layer. It has the chunk of memory that it fills, the calls in progress, and the results of
 * its last lookups. Most calls are recorded without a lock.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_RECORDER_H
#define QMPI_TOOL_TRACE_RECORD_RECORDER_H

#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event_codec.h"
#include "tools/trace/file/name.h"
#include "tools/trace/layer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Chunks ---------------------------------------------------------------------------------- */

/*
 * Threads record in chunks of memory, whose number is limited by the option `memory`. A thread
 * takes a free chunk, fills it, and hands it over to the writer, which gives it back. If more
 * threads record than the limit allows chunks, the limit is exceeded, so that each has one. The
 * functions on chunks take no lock and do not use malloc.
 */

/* A call that was open when the chunk was begun. */
struct record_chunk_call {
    uint64_t ticks;
    uint32_t site;
    uint16_t function;
};
enum { CHUNK_SIZE = 64 * 1024, CHUNK_CALLS = 16 };

struct record_chunk {
    /* This is the end of the recorded data. Only the thread writes it, with release after each
     * record; the writer loads it with acquire before it reads records. */
    unsigned char *_Atomic at;
    unsigned char *end; /* end of the room */
    uint32_t location, stream;
    uint32_t sequence; /* position among the chunks of the recorder */
    uint64_t closed;   /* time at which the chunk was handed over */
    int64_t thread_id; /* thread ID in the kernel */
    bool ends_thread;  /* This is the last chunk of a thread that has ended. */
    /* These are the number of records that were lost before this chunk, and the time of the first
     * of them. */
    uint64_t dropped, dropped_from;
    /* These are the number of ticks that the thread waited for this chunk, or 0, and the time when
     * it began to wait. */
    uint64_t waited, waited_from;
    uint64_t begun; /* time at which the chunk was begun */
    int call_count; /* number of elements of `calls` */
    /* The calls that were open when the chunk was begun, except the innermost ones if there are too
     * many. The outermost is first. */
    struct record_chunk_call calls[CHUNK_CALLS];
    unsigned char *read;        /* end of the data that the writer has read */
    struct record_chunk *next;  /* next chunk in the queue or in a list of the writer */
    uint32_t number;            /* index in the pool */
    _Atomic uint32_t next_free; /* number of the next free chunk plus 1, or 0 */
    _Alignas(64) unsigned char data[];
};

enum { RECORD_POOL_MORE = 1 << 16 }; /* maximum number of chunks beyond the limit */

struct record_pool {
    uint32_t most; /* the limit on the number of chunks */
    /* All accesses are sequentially consistent, so a thread that takes a chunk from a list sees all
     * that the thread that put it there has written. The counts are changed separately from the
     * lists, so they are only estimates. */
    atomic_uint made;           /* number of chunks that exist, or whose allocation failed */
    _Atomic uint64_t free_list; /* a counter, and the number of the first free chunk plus 1 */
    atomic_uint free_count;     /* length of that list */
    atomic_uint handed_over;    /* number of chunks that were handed over and not given back yet */
    atomic_uint returns;        /* number of times that a chunk was given back */
    atomic_uint waiting;        /* number of threads that wait for a chunk */
    struct record_chunk *_Atomic queue; /* chunks that were handed over; the last one is first */
    struct record_chunk *_Atomic all[]; /* indexed by the number of the chunk */
};

/* Makes an empty pool whose limit is `memory` bytes, and which is never freed. Returns NULL if
 * memory is exhausted. */
struct record_pool *record_pool_make(uint64_t memory);

/* Returns an empty chunk, or NULL if there is none or memory is exhausted. Any thread and any
 * signal handler may call this function and the following ones up to record_pool_room. */
struct record_chunk *record_chunk_take(struct record_pool *pool);

/* Like record_chunk_take, but also makes a chunk beyond the limit. */
struct record_chunk *record_chunk_take_more(struct record_pool *pool);

/* Gives back a chunk that was handed over, and that nothing refers to any more. */
void record_chunk_give_back(struct record_pool *pool, struct record_chunk *chunk);

/* Waits until pool->returns is different from `returns`, but at most for a second, and no longer
 * than until a signal interrupts the wait. */
void record_pool_wait(struct record_pool *pool, unsigned returns);

/* Hands a chunk over to the writer. */
void record_chunk_hand_over(struct record_pool *pool, struct record_chunk *chunk);

/* Returns whether so many chunks were handed over that the writer should be woken. To wake it for
 * each chunk would cost more. */
bool record_pool_is_filling(const struct record_pool *pool);

/* Returns the number of chunks that can still be taken within the limit. */
uint32_t record_pool_room(const struct record_pool *pool);

/* Takes all chunks that were handed over. The chunk that was handed over first is the first one in
 * the list. Only the writer may call this function. */
struct record_chunk *record_pool_take_queue(struct record_pool *pool);

/* This chunk without room is used while a thread has no other chunk. */
extern struct record_chunk record_chunk_none;

/* ---- Records --------------------------------------------------------------------------------- */

/*
 * Records have a fixed layout and follow each other in a chunk. The writer translates them to
 * events later (write/translator.c). A call without other records is a single record. If other
 * records belong to a call, they stand between an OPEN record and a CLOSE or LEFT record. The
 * records of a stream are ordered by time.
 */
enum record_kind {
    RECORD_CALL,    /* record_head: a call from `ticks` to `end` */
    RECORD_SEND,    /* record_message: a call from `ticks` to `end` that sends a message */
    RECORD_RECEIVE, /* record_message: a call from `ticks` to `end` that receives a message */
    RECORD_TESTS,   /* record_tests: a call from `ticks` to `end` that found requests incomplete */
    RECORD_OPEN,    /* record_head: a call begins at `ticks` */
    RECORD_CLOSE,   /* record_head: a call ends at `ticks` */
    RECORD_LEFT,    /* record_head: a call is left with longjmp or an exception at `ticks` */
    RECORD_EVENT    /* record_event */
};

struct record_head {
    uint64_t ticks;
    uint64_t end;
    uint32_t site;
    uint16_t function; /* number of the function */
    uint8_t kind;      /* enum record_kind */
    /* For RECORD_EVENT, this is an enum trace_event_kind. For RECORD_TESTS, it is the number of
     * requests. For RECORD_CALL, it is the index of the call's communicator plus 1, or 0 if there
     * is none. */
    uint8_t event;
};

struct record_tests {
    struct record_head head;
    uint64_t requests[];
};

struct record_message {
    struct record_head head;
    uint64_t bytes;
    uint32_t comm;
    int32_t peer, tag;
    uint32_t unused;
};

/* The members have the same meaning as in struct trace_event. In the head, `end` is the request,
 * and `function` is RECORD_NO_FUNCTION except for TRACE_ICOLLECTIVE_COMPLETE. */
enum { RECORD_NO_FUNCTION = UINT16_MAX };
struct record_event {
    struct record_head head;
    uint64_t bytes;
    union {
        uint64_t received;
        double value;
    };
    uint32_t comm, object;
    int32_t peer, tag, root;
    uint32_t unused;
};

/* ---- Recorders ------------------------------------------------------------------------------- */

struct recorder {
    /* This is never NULL. It is stored with release once the chunk is prepared; the writer loads it
     * with acquire. */
    struct record_chunk *_Atomic chunk;
    uint64_t switches; /* `state` while recording is on, 0 while it is off */
    struct flights flights;
    struct layer *layer;
    uint64_t comm_word, comm_changes; /* handle of the last call's communicator, or 0, and the
                                         result of handles_changes for it */
    uint32_t comm;                    /* index of that communicator */
    uint64_t type_word, type_size;    /* handle and size of a predefined datatype, or 0 */
    uint64_t derived_word;            /* handle of a datatype that is not predefined, or 0 */
    /* These are valid if has_location is set, which is stored after them. */
    atomic_uint location, stream;
    _Atomic int64_t thread_id;
    atomic_bool has_location;
    uint32_t sequence; /* sequence number of the next chunk */
    /* The call in progress, MPI_Pcontrol(-1, "name"), switches recording off when it ends. */
    bool region_ends;
    bool is_mute;    /* Calls are followed but not recorded. */
    bool interrupts; /* Its calls interrupt the recording of another call. */
    /* This is the state of the layer's switches when they were followed last. */
    uint64_t state;
    /* TRACE_OFF was recorded, and no TRACE_ON after it. */
    bool is_off;
    /* These are the number of records that were lost since the last chunk, and the time of the
     * first of them. */
    uint64_t dropped, dropped_from;
    /* The call that was prepared last (call_events_prepare), by its flight and the mark of it, and
     * the event at its beginning if it has one. */
    const struct flight *prepared;
    uint64_t prepared_mark;
    bool has_prepared_event;
    struct trace_event prepared_event;
    uint64_t request, request_end; /* next number for a request, and the end of the range */
    struct handle_leavings leavings;
    struct site_cache *site_cache;
    struct recorder *next; /* next recorder of the layer */
};

/* A row contains the recorders of one level of one thread, indexed by layer. */
struct recorder_row {
    struct thread_level level;
    struct recorder *by_layer[256];
    /* In the row of a first level, these are the numbers of locations plus 1, or 0 if there is
     * none, indexed by layer. */
    atomic_uint locations[256];
};

/* Prepares the recorders. The tool's `init` must call this function. */
void recorder_start(void);

/* recorder_at returns the recorder of a layer for a level that thread_level_enter has returned;
 * recorder_make makes this recorder if there is none. Both return NULL if memory is exhausted or
 * `level` is NULL. */
struct recorder *recorder_make(struct thread_level *level, struct layer *layer);
static inline struct recorder *recorder_at(struct thread_level *level, struct layer *layer)
{
    struct recorder_row *row = (struct recorder_row *)level;
    struct recorder *recorder = row ? row->by_layer[layer->tool_id] : NULL;
    return __builtin_expect(recorder != NULL, 1) ? recorder : recorder_make(level, layer);
}

/* Assigns a location to the thread and a stream to this level of it, if they have none. */
void recorder_find_location(struct recorder *recorder);

/* Begins another chunk and returns room in it, or NULL if the record is dropped. This function may
 * wait for the writer. */
void *recorder_next_chunk(struct recorder *recorder);

/* Returns room for a record of `size` bytes, or NULL if the record is dropped. */
static inline void *recorder_room(struct recorder *recorder, size_t size)
{
    struct record_chunk *chunk = atomic_load_explicit(&recorder->chunk, memory_order_relaxed);
    unsigned char *at = atomic_load_explicit(&chunk->at, memory_order_relaxed);
    return __builtin_expect((size_t)(chunk->end - at) >= size, 1) ? at
                                                                  : recorder_next_chunk(recorder);
}

/* Makes the record for which recorder_room returned room visible to the writer. */
static inline void recorder_publish(struct recorder *recorder, size_t size)
{
    struct record_chunk *chunk = atomic_load_explicit(&recorder->chunk, memory_order_relaxed);
    unsigned char *at = atomic_load_explicit(&chunk->at, memory_order_relaxed);
    atomic_store_explicit(&chunk->at, at + size, memory_order_release);
}

/* Hands the chunk over to the writer. `ends_thread` says whether the thread ends. */
void recorder_hand_over(struct recorder *recorder, bool ends_thread);

/* Returns whether an argument is the communicator of the last call, whose index the recorder
 * stores. */
static inline bool recorder_is_last_comm(const struct recorder *recorder, const QMPIX_Call *call,
                                         int argument)
{
    const struct handles *handles = &recorder->layer->objects.handles[OBJECT_COMM];
    return recorder->comm_word == argument_word(call, argument) &&
           recorder->comm_changes == handles_changes(handles);
}

/* Returns a number for a request. No other request of the layer has this number. */
uint64_t recorder_new_request(struct recorder *recorder);

/* ---- Recording ------------------------------------------------------------------------------- */

/* The member `number` of a flight, which is a call in progress (toolkit/flights.h), consists of the
 * function and the call site. */
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

/* Makes a record that consists only of a head. `number` is the number of the flight. */
static inline void recorder_put(struct recorder *recorder, enum record_kind kind, uint64_t number,
                                uint64_t ticks, uint64_t end)
{
    struct record_head *head = recorder_room(recorder, sizeof *head);
    if (__builtin_expect(!head, 0))
        return;
    *head = (struct record_head){.ticks = ticks,
                                 .end = end,
                                 .site = recorder_site(number),
                                 .function = recorder_function(number),
                                 .kind = (uint8_t)kind};
    recorder_publish(recorder, sizeof *head);
}

/* Records an event unless the recorder is mute. */
void recorder_put_event(struct recorder *recorder, const struct trace_event *event);

/* Records an event that only refers to a communicator or an object. Does nothing if `index` is
 * TRACE_NONE. */
void recorder_put_object(struct recorder *recorder, enum trace_event_kind kind, uint32_t index,
                         uint64_t ticks);

/* These functions convert ranks, tags and roots of MPI to their representation in events. */
int recorder_peer(int peer);
int recorder_tag(int tag);
int recorder_root(int root);

#endif
