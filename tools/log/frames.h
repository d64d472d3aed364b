/* SPDX-License-Identifier: MIT */
/*
 * The calls under way. Each has a frame, from `before` to `after`, with its line as far as it is
 * known when the call begins. Others read it: a handler of a signal, the end of the process, the
 * thread that looks for calls that are stuck; so no frame is ever freed, only used again, and a
 * frame's turn tells whether what was read is one call's. Threads keep what they had for the next
 * thread. All but frames_next and frames_read is for between thread_level_enter and
 * thread_level_leave (toolkit/thread_state.h): a call that interrupts the log's own work has frames
 * of its own, and no parent.
 */
#ifndef QMPI_TOOL_LOG_FRAMES_H
#define QMPI_TOOL_LOG_FRAMES_H

#include "format.h"

#include <stdatomic.h>

struct layer;

/* What is left open in a line until the call has returned. */
struct hole {
    size_t place;     /* in the text */
    int parameter;    /* -1: none */
    bool is_deferred; /* an array whose length was not known: `?` is an address so far */
    size_t skip;      /* what stands there so far, and is replaced */
    uint64_t before;  /* the value, of what is read and written */
};

struct frame {
    struct layer *layer;
    struct frame *next;      /* of all frames */
    struct frame *next_free; /* of one thread's */
    struct frame *parent;    /* the call that this one is made from, at its turn then */
    unsigned parent_turn;
    const void *word;       /* the call's QMPIX_Word: where it is on the stack */
    atomic_uint turn;       /* odd: under way */
    atomic_bool registered; /* its line begins with three dots: it was there before */
    atomic_bool hang;       /* that it does not return was said */
    uint64_t begin;         /* nanoseconds since the log began */
    int thread, depth;
    bool has_no_result; /* MPI_Abort */
    const char *caller; /* NULL: not asked for */
    struct text text;   /* "MPI_Send(buf=…" */
    int request_count, request_room;
    MPI_Request *requests; /* that the call was given; see requests.h */
    int hole_count;
    struct hole holes[SHAPE_PARAMETERS];
};

/* To be called in `init`. */
void frames_start(void);

/* A frame for a call that begins; NULL: memory is out. Calls of this thread that were left by a
 * jump (longjmp, an exception) are given to `left` first, and their frames are free then. */
struct frame *frames_take(struct layer *layer, const void *word, void (*left)(struct frame *frame));

/* Its text is whole: from here on it is under way. */
void frames_begin(struct frame *frame);

/* The call has returned: the frame is free. */
void frames_end(struct frame *frame);

/* The call that this one is made from; NULL: none, or it has returned. */
struct frame *frames_parent(const struct frame *frame);

/* The line that this thread may use. */
struct text *frames_line(void);

/* Of this thread, or of the work that interrupts it; -1: none. For sink_add. */
int frames_ring(void);

/* How many threads have called so far. */
int frames_threads(void);

/* The frames, one after the other, from NULL on. Any thread, in a signal handler too. */
struct frame *frames_next(struct frame *frame);

/* Copies the text of a call under way. False: it is not, or not any more. */
bool frames_read(const struct frame *frame, struct text *copy);

#endif
