/* SPDX-License-Identifier: MIT */
/* See line.h. What may be called in a signal handler makes its line in memory of its own and calls
 * nothing but <qmpi/clock.h> and what sink.h says. */
#include "line.h"

#include "arguments.h"

#include <qmpi/clock.h>

#include <string.h>

uint64_t line_time(uint64_t ticks)
{
    uint64_t nanoseconds = 0;
    QMPIX_Clock_to_nanoseconds(ticks > log_start ? ticks - log_start : 0, &nanoseconds);
    return nanoseconds;
}

uint64_t line_now(void)
{
    uint64_t ticks = 0;
    QMPIX_Clock_get_time(&ticks);
    return line_time(ticks);
}

static void add_two(struct text *text, int number, char before)
{
    text_char(text, before);
    text_char(text, (char)('0' + number / 10));
    text_char(text, (char)('0' + number % 10));
}

/* Local time, which is asked for at the start alone: that takes a lock. */
static void add_clock(struct text *text, uint64_t when)
{
    const uint64_t local = log_start_local + when;
    const int of_day = (int)(local / 1000000000U % 86400);
    char fraction[6];
    uint64_t rest = local % 1000000000U / 1000;
    for (int i = 5; i >= 0; i--, rest /= 10)
        fraction[i] = (char)('0' + rest % 10);
    add_two(text, of_day / 3600, ' ');
    add_two(text, of_day / 60 % 60, ':');
    add_two(text, of_day % 60, ':');
    text_char(text, '.');
    text_add(text, fraction, sizeof fraction);
}

/* `thread` 0: of none of them. */
static void add_prefix(struct text *text, struct layer *layer, int thread, uint64_t when)
{
    text_string(text, sink_is_stderr(&layer->sink) ? "qmpi: [" : "[");
    text_number(text, atomic_load(&layer->rank));
    if (log_layer_count > 1) {
        text_string(text, ":layer");
        text_number(text, layer->tool_id);
    }
    if (thread && frames_threads() > 1) {
        text_string(text, ":thread");
        text_number(text, thread);
    }
    text_char(text, ']');
    if (layer->options.when == WHEN_OFFSET) {
        text_char(text, ' ');
        text_seconds(text, when);
    } else if (layer->options.when == WHEN_CLOCK) {
        add_clock(text, when);
    }
    text_char(text, ' ');
}

static void add_begin(struct text *text, const struct frame *frame)
{
    add_prefix(text, frame->layer, frame->thread, frame->begin);
    for (int i = 0; i < frame->depth && i < 20; i++)
        text_string(text, "  ");
}

static void add_caller(struct text *text, const struct frame *frame)
{
    if (frame->caller) {
        text_string(text, " at ");
        text_string(text, frame->caller);
    }
}

/* A line of a call that goes on in this thread. */
static void add_line(struct text *text, struct layer *layer)
{
    text_char(text, '\n');
    sink_add(&layer->sink, frames_ring(), text->data, text->length);
}

/* A line of other threads' calls, or of a process that ends. */
static void write_line(struct text *text, struct layer *layer, bool may_print)
{
    if (text->length == text->size)
        text->length--; /* it was cut */
    text_char(text, '\n');
    sink_write(&layer->sink, text->data, text->length, may_print);
}

static void write_open(const struct frame *frame, const char *end)
{
    struct text *text = frames_line();
    add_begin(text, frame);
    text_add(text, frame->text.data, frame->text.length);
    text_string(text, end);
    add_caller(text, frame);
    add_line(text, frame->layer);
}

void line_begin(struct frame *frame)
{
    if (!atomic_exchange(&frame->registered, true))
        write_open(frame, frame->has_no_result ? " = ?" : " <unfinished ...>");
}

void line_left(struct frame *frame)
{
    if (!frame->layer->judges || frame->layer->options.errors)
        write_open(frame, " <left by a jump>");
}

void line_unfinished(struct frame *frame, uint64_t now, bool may_print)
{
    char bytes[4096];
    struct text text = {.data = bytes, .size = sizeof bytes - 256, .is_fixed = true};
    add_begin(&text, frame);
    if (!frames_read(frame, &text))
        return;
    text.size = sizeof bytes; /* however long the arguments are, there is room for this */
    text_string(&text, " <unfinished after ");
    text_duration(&text, now > frame->begin ? now - frame->begin : 0);
    text_char(&text, '>');
    if (frame->caller && strlen(frame->caller) < 200)
        add_caller(&text, frame);
    write_line(&text, frame->layer, may_print);
}

static void print_parents(struct frame *frame)
{
    struct frame *parent = frames_parent(frame);
    if (!parent || frame->layer->judges)
        return;
    print_parents(parent);
    if (parent->layer == frame->layer)
        line_begin(parent);
}

void line_finish(struct frame *frame, const QMPIX_Call *call, uint64_t time)
{
    print_parents(frame);
    struct text *text = frames_line();
    add_begin(text, frame);
    if (atomic_load(&frame->registered))
        text_string(text, "... ");
    arguments_end(text, frame, call);
    text_string(text, " <");
    text_duration(text, time);
    text_char(text, '>');
    add_caller(text, frame);
    add_line(text, frame->layer);
}

void line_termination(struct layer *layer, const char *termination, bool may_print)
{
    char bytes[512];
    struct text text = {.data = bytes, .size = sizeof bytes, .is_fixed = true};
    add_prefix(&text, layer, 0, line_now());
    text_string(&text, "+++ ");
    text_string(&text, termination);
    text_string(&text, " +++");
    write_line(&text, layer, may_print);
}
