/* SPDX-License-Identifier: MIT */
/*
 * A frame represents a call in progress. It lasts from the `before` callback to the `after`
 * callback and holds as much of the line as is known when the call begins. Signal handlers, the
 * code that runs at the end of the process, and the thread that looks for stuck calls read the
 * frames of other threads. Therefore, a frame is never freed but only reused. Its member `turn`
 * tells a reader whether the text that it read belongs to a single call. The frames of a thread
 * that ends are passed on to the next new thread.
 *
 * Except for frames_start, frames_threads, frames_next and frames_read, these functions may only be
 * called between thread_level_enter and thread_level_leave (toolkit/thread_state.h). A call that
 * interrupts the log's own work has its own frames and no parent.
 */
#ifndef QMPI_TOOL_LOG_FRAMES_H
#define QMPI_TOOL_LOG_FRAMES_H

#include "tools/log/shape.h"
#include "tools/log/text.h"

#include <qmpi/observer.h>

#include <stdatomic.h>

struct layer;

/* A hole is a part of the line that is filled in when the call has returned. */
struct frame_hole {
    size_t place;  /* offset in the text */
    int parameter; /* index of the argument */
    /* The value could not be read, usually because the length of the array was not known. The
     * address stands in the text until the call returns. */
    bool is_deferred;
    size_t skip;     /* length of the text that is replaced */
    uint64_t before; /* former value of an argument that the call both reads and writes */
};

struct frame {
    struct layer *layer;
    struct frame *next;      /* in the list of all frames */
    struct frame *next_free; /* in the list of a thread's free frames */
    struct frame *parent;    /* the call that made this one, if its turn is still parent_turn */
    unsigned parent_turn;
    const QMPIX_Word *word; /* of the call; on the stack */
    /* The turn is odd while the call is in progress. The thread of the call increments it with
     * release order after the other members are complete. Before it changes the members, it
     * increments the turn again, and then issues a release fence. Readers load the turn with
     * acquire order, read the other members, issue an acquire fence, and load the turn again. */
    atomic_uint turn;
    atomic_bool is_announced; /* the call was announced, so its final line begins with three dots */
    atomic_bool is_reported;  /* the call was reported as stuck */
    uint64_t begin;           /* in nanoseconds since the log began */
    int thread, depth;        /* number of the thread; number of enclosing calls in the layer */
    bool has_no_result;       /* MPI_Abort */
    const char *caller;       /* NULL if the options do not ask for it */
    int number;               /* 0, 1, … in the order in which frames were made */
    struct ring_call *call;   /* the place of the call for the writer, or NULL; see sink.h */
    struct text text;         /* "MPI_Send(buf=…" */
    int request_count, request_room;
    MPI_Request *requests; /* the requests that were passed to the call; see arguments.h */
    int hole_count;
    struct frame_hole holes[SHAPE_PARAMETERS];
};

/* Prepares the frames. The tool's `init` must call this function. */
void frames_start(void);

/* Returns a frame for a call that begins, or NULL if memory is exhausted. The caller stores it in
 * the word. If this thread has left earlier calls with longjmp or an exception, their frames are
 * first passed to `left`. */
struct frame *frames_take(struct layer *layer, const QMPIX_Word *word,
                          void (*left)(struct frame *frame));

/* Marks the call as in progress. The text of the frame must be complete. */
void frames_begin(struct frame *frame);

/* Returns the frame of a call that has returned, or NULL if it has none. A call that was taken for
 * left by mistake is in progress again. */
struct frame *frames_find(const QMPIX_Word *word);

/* Frees the frame for reuse after the call has returned. */
void frames_end(struct frame *frame);

/* Returns the call that made this one, or NULL if there is none or it has returned. */
struct frame *frames_parent(const struct frame *frame);

/* Returns an empty text that the current level of this thread may use until it calls this function
 * again. If memory is exhausted, nothing can be added to the text. */
struct text *frames_line(void);

/* Returns the ring of the current level of this thread, for sink_add, or -1 if there is none. */
int frames_ring(void);

/* Returns the number of threads that have made calls so far. */
int frames_threads(void);

/* Returns the next frame after `frame` that belongs to a call in progress of the layer, the first
 * such frame if `frame` is NULL, or NULL if there is none. Any thread and any signal handler may
 * call this function. */
struct frame *frames_next(const struct layer *layer, struct frame *frame);

/* Appends the text of a call in progress to `copy`. Returns false if the call has not begun or has
 * returned in the meantime. Any thread and any signal handler may call this function. */
bool frames_read(const struct frame *frame, struct text *copy);

#endif
