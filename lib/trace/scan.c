/* SPDX-License-Identifier: MIT */
/* See scan.h. */
#define _GNU_SOURCE
#include "trace/scan.h"

#include "trace/block_file.h"
#include "trace/compression.h"

#include <stdlib.h>

#define SEARCH_SIZE (1 << 16)

/* While a file is read from its beginning to its end. */
struct scan {
    struct trace_source *source;
    struct trace_definitions *definitions;
    int descriptor;
    struct trace_stack stack;
    struct trace_bytes head, stored, body; /* scratch */
};

static bool add_block(struct scan *scan, uint64_t offset, uint64_t size)
{
    struct trace_source *source = scan->source;
    struct trace_events_head head;
    if (!trace_events_head_read(&head, &scan->stack, scan->head.data, scan->head.size) ||
        !trace_definitions_add_location(scan->definitions, head.location))
        return false;
    if (source->block_count == source->block_room) {
        const size_t room = source->block_room ? 2 * source->block_room : 16;
        void *blocks = realloc(source->blocks, room * sizeof *source->blocks);
        if (!blocks)
            return false;
        source->blocks = blocks;
        source->block_room = room;
    }
    source->blocks[source->block_count++] = (struct trace_source_block){
        .offset = offset,
        .number = head.number,
        .events = head.events,
        .first = head.first,
        .last = head.last,
        .begin = scan->stack.depth ? scan->stack.calls[0].ticks : head.first,
        .size = size,
        .location = head.location,
        .stream = head.stream};
    return true;
}

/* Notes a block whose first bytes and head are read. Returns false if it is invalid. */
static bool note_block(struct scan *scan, uint64_t offset, const struct trace_block *block)
{
    struct trace_source *source = scan->source;
    if (block->type != TRACE_BLOCK_EVENTS && block->type != TRACE_BLOCK_DEFINITIONS)
        return true;
    if (block->compression == TRACE_ZSTD && !trace_zstd_is_there()) {
        source->lacks_zstd = true;
        return true;
    }
    if (block->type == TRACE_BLOCK_EVENTS)
        return add_block(scan, offset, trace_block_total(block));
    if (!trace_block_file_body(scan->descriptor, offset, block, &scan->body, &scan->stored))
        return false;
    const bool is_valid =
        trace_definitions_read(scan->definitions, scan->body.data, scan->body.size);
    source->is_exhausted |= scan->definitions->is_exhausted;
    return is_valid || source->is_exhausted;
}

/* Returns where the next block begins, from `offset` on; `size` of the file: there is none. */
static uint64_t find_block(struct scan *scan, uint64_t offset)
{
    unsigned char bytes[TRACE_BLOCK_SIZE];
    struct trace_block block;
    const uint64_t size = scan->source->size;
    while (size - offset >= TRACE_BLOCK_SIZE) {
        const size_t part = size - offset < SEARCH_SIZE ? (size_t)(size - offset) : SEARCH_SIZE;
        if (!trace_block_file_bytes(scan->descriptor, &scan->stored, part, offset))
            return size;
        const unsigned char *found =
            memmem(scan->stored.data, part, TRACE_BLOCK_MAGIC, TRACE_BLOCK_MAGIC_SIZE);
        if (!found) {
            offset += part - (TRACE_BLOCK_MAGIC_SIZE - 1);
            continue;
        }
        offset += (uint64_t)(found - scan->stored.data);
        if (size - offset >= TRACE_BLOCK_SIZE &&
            trace_block_file_read(scan->descriptor, bytes, sizeof bytes, offset) &&
            trace_block_read(&block, bytes))
            return offset;
        offset++;
    }
    return size;
}

static void find_blocks(struct scan *scan, struct trace_process *process)
{
    struct trace_source *source = scan->source;
    unsigned char bytes[TRACE_BLOCK_SIZE];
    struct trace_block block;
    uint64_t offset = TRACE_MAGIC_SIZE;
    while (offset < source->size) {
        const uint64_t left = source->size - offset;
        if (left < TRACE_BLOCK_SIZE ||
            !trace_block_file_read(scan->descriptor, bytes, sizeof bytes, offset) ||
            !trace_block_read(&block, bytes)) {
            const uint64_t next = find_block(scan, offset + 1);
            if (next == source->size)
                break;
            source->damaged += next - offset;
            offset = next;
            continue;
        }
        if (trace_block_total(&block) > left)
            break;
        if (!trace_block_file_head(scan->descriptor, offset, &block, &scan->head) ||
            !note_block(scan, offset, &block))
            source->damaged += trace_block_total(&block);
        offset += trace_block_total(&block);
    }
    process->unfinished = source->size - offset;
}

void trace_scan(struct trace_source *source, struct trace_process *process,
                struct trace_definitions *definitions, int descriptor)
{
    struct scan scan = {.source = source, .definitions = definitions, .descriptor = descriptor};
    find_blocks(&scan, process);
    trace_stack_free(&scan.stack);
    trace_bytes_free(&scan.head);
    trace_bytes_free(&scan.stored);
    trace_bytes_free(&scan.body);
}
