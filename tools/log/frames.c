/* SPDX-License-Identifier: MIT */
/* See frames.h. */
#define _GNU_SOURCE
#include "tools/log/frames.h"

#include "toolkit/toolkit.h"
#include "tools/log/layer.h"
#include "util/util.h"

#include <signal.h>
#include <string.h>

/* The number of calls of a thread that were taken for left and whose frames are kept. */
enum { LEFT_FRAMES = 8 };

struct thread {
    struct thread_level level;
    int number;            /* 1, 2, … in the order of the first calls of threads */
    int ring;              /* 1, 2, …, or 0 if it has none yet */
    struct frame *current; /* the innermost call in progress, if its turn is current_turn */
    unsigned current_turn;
    struct frame *free;
    /* Frames of calls that seem to have been left, the latest first, or NULL. Such a call may
     * return nevertheless; this shows that the thread runs on several stacks (see
     * release_left_frames). */
    struct frame *left[LEFT_FRAMES];
    bool has_several_stacks;
    struct text line;
    struct qmpi_call_stack stack;
};

/* Frames are only added to the list `frames`, by an atomic compare-and-exchange. The numbers of
 * threads, rings and frames are unique, because an atomic addition gives each of them. */
static atomic_int threads, rings, made;
static _Atomic(struct frame *) frames;

static void free_frame(struct thread *thread, struct frame *frame)
{
    if (!frame)
        return;
    frame->next_free = thread->free;
    thread->free = frame;
}

static void end_log_thread(struct thread_level *level)
{
    struct thread *thread = (struct thread *)level;
    for (int i = 0; i < LEFT_FRAMES; i++)
        free_frame(thread, thread->left[i]);
    memset(thread->left, 0, sizeof thread->left);
    thread->has_several_stacks = false;
    thread->number = 0;
    thread->current = NULL;
    thread->stack = (struct qmpi_call_stack){0, 0};
}

void frames_start(void)
{
    thread_level_start(sizeof(struct thread), end_log_thread);
}

static struct thread *current_thread(void)
{
    return (struct thread *)thread_level_current;
}

static int thread_number(struct thread *thread)
{
    while (thread->level.outer)
        thread = (struct thread *)thread->level.outer;
    if (!thread->number)
        thread->number = atomic_fetch_add(&threads, 1) + 1;
    return thread->number;
}

int frames_threads(void)
{
    return atomic_load_explicit(&threads, memory_order_relaxed);
}

int frames_ring(void)
{
    struct thread *thread = current_thread();
    if (thread && !thread->ring)
        thread->ring = atomic_fetch_add(&rings, 1) + 1;
    return thread ? thread->ring - 1 : -1;
}

struct text *frames_line(void)
{
    static struct text none = {.is_fixed = true};
    struct thread *thread = current_thread();
    if (!thread)
        return &none;
    thread->line.length = 0;
    return &thread->line;
}

static struct frame *make_frame(void)
{
    struct frame *frame = qmpi_memory_take(sizeof *frame);
    if (!frame)
        return NULL;
    frame->number = atomic_fetch_add(&made, 1);
    frame->next = atomic_load(&frames);
    while (!atomic_compare_exchange_weak(&frames, &frame->next, frame))
        continue;
    return frame;
}

/* Returns the frame if its turn is still `turn`, or NULL. At another turn, the call has returned,
 * and the frame may belong to a different call. This is possible because the calls of user-level
 * threads may return in any order. */
static struct frame *frame_at_turn(struct frame *frame, unsigned turn)
{
    return frame && atomic_load_explicit(&frame->turn, memory_order_relaxed) == turn ? frame : NULL;
}

struct frame *frames_parent(const struct frame *frame)
{
    return frame_at_turn(frame->parent, frame->parent_turn);
}

static bool is_on_thread_stack(struct thread *thread, const void *word)
{
    if (!thread->stack.end)
        thread->stack = qmpi_call_stack_of_thread();
    return (uintptr_t)word >= thread->stack.begin && (uintptr_t)word < thread->stack.end;
}

static void set_current_frame(struct thread *thread, struct frame *frame)
{
    thread->current = frame;
    thread->current_turn = frame ? atomic_load_explicit(&frame->turn, memory_order_relaxed) : 0;
}

/* Marks the call as no longer in progress. */
static void close_frame(struct thread *thread, struct frame *frame)
{
    sink_call_close(&frame->layer->sink, frame->call);
    frame->call = NULL;
    atomic_fetch_add_explicit(&frame->turn, 1, memory_order_relaxed);
    /* A reader that finds anything of the next call in the frame must also find that the turn has
     * changed. An atomic addition alone does not ensure this: later stores may become visible
     * before it, whatever its order. */
    atomic_thread_fence(memory_order_release);
    if (thread && thread->current == frame)
        set_current_frame(thread, frames_parent(frame));
}

/* On an alternate signal stack, which may be an array in a frame of the thread's stack, the order
 * of addresses does not show which call is within the other. */
static bool is_on_signal_stack(void)
{
    stack_t stack;
    return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK;
}

static void keep_left_frame(struct thread *thread, struct frame *frame)
{
    free_frame(thread, thread->left[LEFT_FRAMES - 1]);
    memmove(thread->left + 1, thread->left, sizeof thread->left - sizeof *thread->left);
    thread->left[0] = frame;
}

/*
 * Releases the frames of calls that were left with longjmp or an exception. The stack grows
 * downwards, so these calls are the ones whose word does not lie above that of the new call. Calls
 * on the stacks of user-level threads are not recognized. If such a stack is an array in a frame of
 * the thread's own stack, a call on it makes the call that switched to it look as if it was left.
 * When that call returns, frames_find notices the error, and the thread makes it only once.
 */
static void release_left_frames(struct thread *thread, const void *word,
                                void (*left)(struct frame *frame))
{
    struct frame *frame;
    while ((frame = frame_at_turn(thread->current, thread->current_turn)) &&
           (uintptr_t)frame->word <= (uintptr_t)word && !thread->has_several_stacks &&
           is_on_thread_stack(thread, frame->word) && is_on_thread_stack(thread, word) &&
           !is_on_signal_stack()) {
        left(frame);
        close_frame(thread, frame);
        keep_left_frame(thread, frame);
    }
}

/* Returns whether a call was taken for left, and takes its frame out of the list of such calls. */
static bool take_back(struct thread *thread, const struct frame *frame)
{
    for (int i = 0; thread && i < LEFT_FRAMES; i++) {
        if (thread->left[i] != frame)
            continue;
        memmove(&thread->left[i], &thread->left[i + 1],
                (size_t)(LEFT_FRAMES - 1 - i) * sizeof *thread->left);
        thread->left[LEFT_FRAMES - 1] = NULL;
        return true;
    }
    return false;
}

struct frame *frames_find(const QMPIX_Word *word)
{
    struct frame *frame = word->pointer;
    struct thread *thread = current_thread();
    /* No other call in progress has its word at the same place. */
    if (!frame || frame->word != word)
        return NULL;
    if (atomic_load_explicit(&frame->turn, memory_order_relaxed) & 1)
        return frame;
    if (!take_back(thread, frame))
        return NULL;
    thread->has_several_stacks = true;
    frames_begin(frame);
    return frame;
}

struct frame *frames_take(struct layer *layer, const QMPIX_Word *word,
                          void (*left)(struct frame *frame))
{
    struct thread *thread = current_thread();
    if (!thread)
        return NULL;
    release_left_frames(thread, word, left);
    struct frame *frame = thread->free;
    if (frame)
        thread->free = frame->next_free;
    else if (!(frame = make_frame()))
        return NULL;
    frame->layer = layer;
    frame->word = word;
    frame->thread = thread_number(thread);
    frame->hole_count = frame->request_count = 0;
    frame->caller = NULL;
    frame->call = NULL;
    frame->text.length = 0;
    atomic_store_explicit(&frame->is_announced, false, memory_order_relaxed);
    atomic_store_explicit(&frame->is_reported, false, memory_order_relaxed);
    frame->parent = frame_at_turn(thread->current, thread->current_turn);
    frame->parent_turn = thread->current_turn;
    frame->depth = 0;
    for (const struct frame *above = frames_parent(frame); above; above = frames_parent(above))
        frame->depth += above->layer == layer;
    return frame;
}

void frames_begin(struct frame *frame)
{
    struct thread *thread = current_thread();
    atomic_fetch_add_explicit(&frame->turn, 1, memory_order_release);
    if (thread)
        set_current_frame(thread, frame);
}

void frames_end(struct frame *frame)
{
    struct thread *thread = current_thread();
    close_frame(thread, frame);
    if (thread)
        free_frame(thread, frame);
}

struct frame *frames_next(const struct layer *layer, struct frame *frame)
{
    frame = frame ? frame->next : atomic_load(&frames);
    while (frame && (frame->layer != layer || !(atomic_load(&frame->turn) & 1)))
        frame = frame->next;
    return frame;
}

bool frames_read(const struct frame *frame, struct text *copy)
{
    const unsigned turn = atomic_load_explicit(&frame->turn, memory_order_acquire);
    if (!(turn & 1))
        return false;
    /* The length must be read before `data`, because memory that replaces `data` later has room for
     * any earlier length. */
    const size_t length = __atomic_load_n(&frame->text.length, __ATOMIC_ACQUIRE);
    text_add(copy, __atomic_load_n(&frame->text.data, __ATOMIC_RELAXED), length);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&frame->turn, memory_order_relaxed) == turn;
}
