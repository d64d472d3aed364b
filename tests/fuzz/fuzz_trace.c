/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any bytes as one process's file of a trace. The reader must refuse the file with a
 * hint, or return events that are properly nested, in order of time, and refer to defined things.
 * If the first byte of the input is no multiple of 8, the checksums are corrected first, because
 * the reader would refuse a damaged file at once. The rest of the input is the file.
 */
#define _GNU_SOURCE
#include "tools/trace/export/trace.h"
#include "tools/trace/file/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* Makes blocks of everything after the magic number of the file: sets the magic number, the sizes
 * and the checksums of each block. */
static void repair(unsigned char *file, size_t size)
{
    for (size_t at = TRACE_MAGIC_SIZE; at < size && size - at >= TRACE_BLOCK_SIZE;) {
        unsigned char *block = file + at;
        const size_t left = size - at - TRACE_BLOCK_SIZE;
        size_t head = (size_t)trace_bytes_read_word(block + 8, 4) % (left + 1);
        size_t stored = (size_t)trace_bytes_read_word(block + 12, 4) % (left - head + 1);
        memcpy(block, TRACE_BLOCK_MAGIC, TRACE_BLOCK_MAGIC_SIZE);
        trace_bytes_write_word(block + 8, head, 4);
        trace_bytes_write_word(block + 12, stored, 4);
        if (!block[5])
            trace_bytes_write_word(block + 16, stored, 4);
        trace_bytes_write_word(block + 20, trace_block_checksum(0, block + TRACE_BLOCK_SIZE, head),
                               4);
        trace_bytes_write_word(block + 24,
                               trace_block_checksum(0, block + TRACE_BLOCK_SIZE + head, stored), 4);
        trace_bytes_write_word(block + 28, trace_block_checksum(0, block, 28), 4);
        at += TRACE_BLOCK_SIZE + head + stored;
    }
}

static bool ends_call(const struct trace_event *event)
{
    return event->kind == TRACE_LEAVE || event->kind == TRACE_INTERRUPTED;
}

static void check_event(const struct trace_process *process, const struct trace_event *event)
{
    check((int)event->kind >= 0 && event->kind < TRACE_KINDS);
    check(event->location < process->location_count);
    check(event->function == TRACE_NONE || event->function < process->function_count);
    check(event->site == TRACE_NONE || event->site < process->site_count);
    check(event->comm == TRACE_NONE || event->comm < process->comm_count);
    if (event->kind == TRACE_ENTER || ends_call(event))
        check(strlen(process->functions[event->function].name) < SIZE_MAX);
    if (event->comm != TRACE_NONE)
        trace_event_world_rank(process, event->comm, event->peer);
    if (event->kind == TRACE_COUNTER)
        check(strlen(process->counters[event->object].name) < SIZE_MAX);
    if (event->kind == TRACE_RMA_PUT)
        trace_event_world_rank(process, process->windows[event->object].comm, event->peer);
}

/* Reads all events of a selection (NULL: of the trace), and checks that their times are in order
 * and that they are nested in each location. */
static void walk(const struct trace *trace, const struct trace_cursor_selection *selection)
{
    const struct trace_process *process = trace->processes;
    struct state {
        size_t depth, room;
        uint32_t *functions;
        uint64_t ticks;
    } *states = calloc(process->location_count + 1, sizeof *states);
    struct trace_cursor *cursor = trace_cursor_make(trace, TRACE_NONE, TRACE_NONE, selection);
    struct trace_event event;
    int64_t time = 0;
    uint32_t index;
    while (cursor && trace_cursor_next(cursor, &event, &index)) {
        check(index == 0);
        check_event(process, &event);
        struct state *state = &states[event.location];
        check(event.time >= time && event.ticks >= state->ticks);
        check(!selection || (event.time >= selection->begin && event.time <= selection->end));
        time = event.time;
        state->ticks = event.ticks;
        if (event.kind == TRACE_ENTER) {
            if (state->depth == state->room) {
                state->room = 2 * state->room + 8;
                state->functions =
                    realloc(state->functions, state->room * sizeof *state->functions);
            }
            state->functions[state->depth++] = event.function;
        } else if (ends_call(&event)) {
            check(state->depth > 0);
            check(state->functions[--state->depth] == event.function);
        }
    }
    trace_cursor_free(cursor);
    for (size_t i = 0; i < process->location_count; i++)
        free(states[i].functions);
    free(states);
}

/* Tests that the definitions of a process are the same after they are packed and unpacked. */
static void pack(const struct trace_process *process)
{
    struct trace_bytes packed = {0}, again = {0};
    struct trace_process other;
    if (trace_definitions_pack(process, &packed)) {
        check(trace_definitions_unpack(packed.data, packed.size, &other));
        check(trace_definitions_pack(&other, &again));
        check(again.size == packed.size && !memcmp(again.data, packed.data, packed.size));
        trace_definitions_clear(&other);
    }
    trace_bytes_free(&packed);
    trace_bytes_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int descriptor = -1;
    static char path[64];
    if (!size)
        return 0;
    unsigned char *file = malloc(size);
    memcpy(file, data + 1, size - 1);
    if (*data % 8)
        repair(file, size - 1);
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    if (ftruncate(descriptor, 0) || pwrite(descriptor, file, size - 1, 0) != (ssize_t)(size - 1))
        abort();
    free(file);
    char *problem = NULL;
    struct trace *trace = trace_reader_open(path, &problem);
    if (trace) {
        const struct trace_cursor_selection selection = {
            .has_begin = true, .has_end = true, .begin = trace->end / 4, .end = trace->end / 2};
        walk(trace, NULL);
        walk(trace, &selection);
        pack(trace->processes);
        trace_reader_close(trace);
    } else {
        check(strstr(problem, "\nhint: ") != NULL);
        free(problem);
    }
    return 0;
}
