/* SPDX-License-Identifier: MIT */
/*
 * The cost of trace files: nanoseconds for encoding and for reading an event, and bytes for a call,
 * for programs that repeat themselves. Times are random numbers around a typical value, like those
 * of real calls.
 */
#define _GNU_SOURCE
#include "tools/trace/export/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_SIZE (128 << 10)

static uint64_t seed = 1;

static uint64_t random_next(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

/* Returns about `usual` ticks: three quarters of `usual`, plus a random number whose distribution
 * is nearly exponential. One result in a thousand is instead 20 times `usual`. */
static uint64_t passed(uint64_t usual)
{
    const uint64_t random = random_next();
    uint64_t extra = usual / 4 * (uint64_t)(1 + __builtin_ctzll(random | UINT64_C(1) << 40)) / 2;
    extra += random_next() % (usual / 4 + 1);
    return (random >> 50) % 1000 ? usual * 3 / 4 + extra : 20 * usual;
}

/* ---- Programs -------------------------------------------------------------------------------- */

static struct trace_event *events;
static size_t count, room;
static uint64_t ticks, calls, request;

static struct trace_event *add(enum trace_event_kind kind)
{
    if (count == room) {
        room = room ? 2 * room : 1 << 16;
        events = realloc(events, room * sizeof *events);
        if (!events)
            abort();
    }
    trace_event_clear(&events[count], kind, ticks);
    return &events[count++];
}

static void enter(uint32_t function, uint32_t site, uint64_t gap)
{
    ticks += passed(gap);
    struct trace_event *event = add(TRACE_ENTER);
    event->function = function;
    event->site = site;
    calls++;
}

static void leave(uint64_t duration)
{
    ticks += passed(duration);
    add(TRACE_LEAVE);
}

static void message(enum trace_event_kind kind, int peer, int tag, uint64_t bytes)
{
    struct trace_event *event = add(kind);
    event->comm = 0;
    event->peer = peer;
    event->tag = tag;
    event->bytes = bytes;
    event->request = kind == TRACE_SEND || kind == TRACE_RECV ? TRACE_NO_REQUEST : ++request;
}

static void comm_rank(void)
{
    enter(0, 0, 60);
    leave(90);
}

static void round_trip(void)
{
    enter(1, 1, 100);
    message(TRACE_SEND, 1, 5, 8);
    leave(400);
    enter(2, 2, 100);
    ticks += passed(1500);
    message(TRACE_RECV, 1, 5, 8);
    add(TRACE_LEAVE);
}

/* Exchanges messages with four neighbors. `step` is added to the sizes of the messages. */
static void exchange(uint64_t step)
{
    const int peers[] = {3, 5, 12, 9};
    const uint64_t first = request + 1;
    for (int i = 0; i < 4; i++) {
        enter(3, 3, 100);
        message(TRACE_IRECV_REQUEST, peers[i], i, 65536);
        leave(200);
    }
    for (int i = 0; i < 4; i++) {
        enter(4, 4, 100);
        message(TRACE_ISEND, peers[i], i ^ 1, 4096 + 8 * (uint64_t)i + step);
        leave(500);
    }
    enter(5, 5, 100);
    ticks += passed(20000);
    for (int i = 0; i < 4; i++) {
        message(TRACE_IRECV, peers[i], i, 4096 + 8 * (uint64_t)i + step);
        events[count - 1].request = first + (uint64_t)i;
    }
    for (int i = 0; i < 4; i++)
        add(TRACE_ISEND_COMPLETE)->request = first + 4 + (uint64_t)i;
    add(TRACE_LEAVE);
    request = first + 7;
}

static void allreduce(void)
{
    enter(6, 6, 100000);
    add(TRACE_COLLECTIVE_BEGIN)->comm = 0;
    ticks += passed(5000);
    struct trace_event *event = add(TRACE_COLLECTIVE_END);
    event->comm = 0;
    event->bytes = event->received = 8;
    add(TRACE_LEAVE);
}

static void make(const char *name, size_t size)
{
    count = calls = request = 0;
    ticks = UINT64_C(1) << 50;
    for (uint64_t step = 0; count < size; step++) {
        if (!strcmp(name, "rank") || !strcmp(name, "mix"))
            comm_rank();
        if (!strcmp(name, "round trip") || !strcmp(name, "mix"))
            round_trip();
        if (!strcmp(name, "exchange") || !strcmp(name, "mix"))
            exchange(0);
        if (!strcmp(name, "changing"))
            exchange(random_next() % 1000);
        if (!strcmp(name, "exchange") || !strcmp(name, "changing") || !strcmp(name, "mix"))
            allreduce();
    }
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void put_process(struct trace_bytes *out)
{
    char none[] = "";
    struct trace_process process = {.run = {1, 2}, .ranks = 1, .tick = 0.4};
    struct trace_function function = {none, none, 0};
    struct trace_comm comm = {.id = 1, .size = 16};
    struct trace_bytes records = {0};
    trace_definitions_put_header(out, &process);
    for (uint32_t i = 0; i < 8; i++)
        trace_definitions_put_function(&records, i, &function);
    trace_definitions_put_comm(&records, 0, &comm);
    trace_definitions_put_block(out, &records);
    trace_bytes_free(&records);
}

static void measure(const char *name, bool compress)
{
    struct trace_bytes out = {0};
    struct trace_event_encoder *encoder = trace_event_encoder_make(0, 0, compress);
    const int descriptor = memfd_create("trace", MFD_CLOEXEC);
    char path[64], *problem;
    size_t size = 0, read = 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    put_process(&out);
    double begin = now(), encoding = 0;
    for (size_t i = 0; i < count; i++) {
        trace_event_encoder_add(encoder, &events[i]);
        if (trace_event_encoder_size(encoder) < BLOCK_SIZE && i + 1 < count)
            continue;
        trace_event_encoder_finish(encoder, &out);
        encoding += now() - begin;
        if (write(descriptor, out.data, out.size) != (ssize_t)out.size)
            abort();
        size += out.size;
        out.size = 0;
        begin = now();
    }
    struct trace *trace = trace_reader_open(path, &problem);
    if (!trace)
        abort();
    struct trace_cursor *cursor = trace_cursor_make(trace, TRACE_NONE, TRACE_NONE, NULL);
    struct trace_event event;
    begin = now();
    while (trace_cursor_next(cursor, &event, NULL))
        read++;
    const double reading = now() - begin;
    if (read != count)
        abort();
    printf("%-10s  %-10s  %6.2f  %6.2f  %8.1f  %8.1f\n", name, compress ? "zstd" : "stored",
           (double)size / (double)calls, (double)count / (double)calls, encoding / (double)count,
           reading / (double)count);
    trace_cursor_free(cursor);
    trace_reader_close(trace);
    trace_event_encoder_free(encoder);
    trace_bytes_free(&out);
    close(descriptor);
}

int main(void)
{
    const char *names[] = {"rank", "round trip", "exchange", "changing", "mix"};
    printf("            blocks      bytes/   events  ns/event  ns/event\n"
           "program     are         call     /call   encoding  reading\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        make(names[i], 4000000);
        measure(names[i], true);
        measure(names[i], false);
    }
    free(events);
    return 0;
}
