/* SPDX-License-Identifier: MIT */
/* See source.h. */
#define _GNU_SOURCE
#include "trace/source.h"

#include "trace/block.h"
#include "trace/checksum.h"
#include "trace/compression.h"
#include "trace/kinds.h"
#include "trace/records.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Definitions of a file may take this much memory, and this many times the size of the file. */
#define BUDGET (UINT64_C(256) << 20)
#define BUDGET_FACTOR 64

#define SEARCH_SIZE (1 << 16)

/* While a file is read from its beginning to its end. */
struct scan {
    struct trace_source *source;
    struct trace_definitions *definitions;
    int descriptor;
    struct trace_bytes head, stored, body; /* scratch */
};

/* ---- Reading --------------------------------------------------------------------------------- */

static bool read_at(int descriptor, void *data, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        const ssize_t length =
            pread(descriptor, (char *)data + done, size - done, (off_t)(offset + done));
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return false;
        done += (size_t)length;
    }
    return true;
}

static bool read_bytes(int descriptor, struct trace_bytes *bytes, size_t size, uint64_t offset)
{
    bytes->size = 0;
    bytes->failed = false;
    if (!trace_bytes_reserve(bytes, size ? size : 1) ||
        !read_at(descriptor, bytes->data, size, offset))
        return false;
    bytes->size = size;
    return true;
}

/* Reads the first bytes of a block, and its head. */
static bool read_head(int descriptor, uint64_t offset, struct trace_block *block,
                      struct trace_bytes *head)
{
    unsigned char bytes[TRACE_BLOCK_SIZE];
    return read_at(descriptor, bytes, sizeof bytes, offset) && trace_block_read(block, bytes) &&
           read_bytes(descriptor, head, block->head, offset + TRACE_BLOCK_SIZE) &&
           trace_checksum(0, head->data, head->size) == block->head_checksum;
}

/* Reads the body of a block. */
static bool read_body(int descriptor, uint64_t offset, const struct trace_block *block,
                      struct trace_bytes *body, struct trace_bytes *scratch)
{
    struct trace_bytes *stored = block->compression == TRACE_STORED ? body : scratch;
    if (!read_bytes(descriptor, stored, block->stored, offset + TRACE_BLOCK_SIZE + block->head) ||
        trace_checksum(0, stored->data, stored->size) != block->stored_checksum)
        return false;
    if (block->compression == TRACE_STORED)
        return block->stored == block->size;
    body->size = 0;
    body->failed = false;
    if (block->compression != TRACE_ZSTD || !trace_bytes_reserve(body, block->size) ||
        !trace_decompress(body->data, block->size, stored->data, stored->size))
        return false;
    body->size = block->size;
    return true;
}

static uint64_t whole_size(const struct trace_block *block)
{
    return TRACE_BLOCK_SIZE + (uint64_t)block->head + block->stored;
}

/* ---- Finding the blocks ---------------------------------------------------------------------- */

static bool add_block(struct scan *scan, uint64_t offset, uint64_t size)
{
    struct trace_source *source = scan->source;
    struct trace_events_head head;
    if (!trace_events_head_read(&head, NULL, scan->head.data, scan->head.size) ||
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
    source->blocks[source->block_count++] = (struct trace_source_block){.offset = offset,
                                                                        .number = head.number,
                                                                        .events = head.events,
                                                                        .first = head.first,
                                                                        .last = head.last,
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
        return add_block(scan, offset, whole_size(block));
    if (!read_body(scan->descriptor, offset, block, &scan->body, &scan->stored))
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
        if (!read_bytes(scan->descriptor, &scan->stored, part, offset))
            return size;
        const unsigned char *found =
            memmem(scan->stored.data, part, TRACE_BLOCK_MAGIC, TRACE_BLOCK_MAGIC_SIZE);
        if (!found) {
            offset += part - (TRACE_BLOCK_MAGIC_SIZE - 1);
            continue;
        }
        offset += (uint64_t)(found - scan->stored.data);
        if (size - offset >= TRACE_BLOCK_SIZE &&
            read_at(scan->descriptor, bytes, sizeof bytes, offset) &&
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
        if (left < TRACE_BLOCK_SIZE || !read_at(scan->descriptor, bytes, sizeof bytes, offset) ||
            !trace_block_read(&block, bytes)) {
            const uint64_t next = find_block(scan, offset + 1);
            if (next == source->size)
                break;
            source->damaged += next - offset;
            offset = next;
            continue;
        }
        if (whole_size(&block) > left)
            break;
        if (!read_head(scan->descriptor, offset, &block, &scan->head) ||
            !note_block(scan, offset, &block))
            source->damaged += whole_size(&block);
        offset += whole_size(&block);
    }
    process->unfinished = source->size - offset;
}

/* ---- Streams --------------------------------------------------------------------------------- */

static int compare_blocks(const void *a, const void *b)
{
    const struct trace_source_block *one = a, *other = b;
    if (one->location != other->location)
        return one->location < other->location ? -1 : 1;
    if (one->stream != other->stream)
        return one->stream < other->stream ? -1 : 1;
    if (one->number != other->number)
        return one->number < other->number ? -1 : 1;
    return one->offset < other->offset ? -1 : one->offset > other->offset;
}

static bool is_same_stream(const struct trace_source_block *one,
                           const struct trace_source_block *other)
{
    return one->location == other->location && one->stream == other->stream;
}

/* Removes blocks that contradict the one before: the same events again, or earlier times. */
static void sort_blocks(struct trace_source *source)
{
    size_t count = 0;
    if (source->block_count)
        qsort(source->blocks, source->block_count, sizeof *source->blocks, compare_blocks);
    for (size_t i = 0; i < source->block_count; i++) {
        const struct trace_source_block *last = count ? &source->blocks[count - 1] : NULL;
        const struct trace_source_block *block = &source->blocks[i];
        if (last && is_same_stream(last, block) &&
            (block->number - last->number < last->events || block->first < last->last))
            source->damaged += block->size;
        else
            source->blocks[count++] = *block;
    }
    source->block_count = count;
}

/* Finds the calls in progress at the end of a block. Returns false if the block is invalid. */
static bool find_end(const struct trace_source *source, const struct trace_source_block *block,
                     struct trace_loaded_block *loaded, struct trace_decoder *decoder,
                     struct trace_bytes *scratch)
{
    struct trace_event event;
    if (!trace_source_load(source, block, loaded, scratch) ||
        !trace_decoder_begin(decoder, &loaded->head, loaded->body.data, loaded->body.size))
        return false;
    for (uint64_t number = block->number; trace_decode(decoder, &event); number++)
        if (loaded->stack.depth > TRACE_DEPTH_MAX ||
            !trace_stack_note(&loaded->stack, &event, event.ticks, number))
            return false;
    return !decoder->left;
}

/* Finds the streams, which end where their last block can be decoded. */
static bool make_streams(struct trace_source *source)
{
    struct trace_decoder *decoder = calloc(1, sizeof *decoder);
    struct trace_loaded_block loaded = {0};
    struct trace_bytes scratch = {0};
    source->streams = calloc(source->block_count + 1, sizeof *source->streams);
    if (!decoder || !source->streams) {
        free(decoder);
        return false;
    }
    decoder->fields = source->fields;
    for (size_t i = 0; i < source->block_count;) {
        size_t end = i + 1;
        while (end < source->block_count &&
               is_same_stream(&source->blocks[i], &source->blocks[end]))
            end++;
        size_t count = end - i;
        for (; count; count--) {
            const struct trace_source_block *last = &source->blocks[i + count - 1];
            if (find_end(source, last, &loaded, decoder, &scratch))
                break;
            source->damaged += last->size;
            source->lost += last->events;
        }
        if (count) {
            source->streams[source->stream_count++] =
                (struct trace_source_stream){.location = source->blocks[i].location,
                                             .stream = source->blocks[i].stream,
                                             .blocks = &source->blocks[i],
                                             .count = count,
                                             .end = loaded.stack};
            loaded.stack = (struct trace_stack){0};
        }
        i = end;
    }
    trace_decoder_free(decoder);
    free(decoder);
    trace_loaded_block_free(&loaded);
    trace_bytes_free(&scratch);
    return true;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* What the heads of blocks tell of a process. */
static void note_events(const struct trace_source *source, struct trace_process *process)
{
    for (size_t i = 0; i < process->location_count; i++)
        process->locations[i].events = 0;
    for (size_t i = 0; i < source->stream_count; i++) {
        const struct trace_source_stream *stream = &source->streams[i];
        for (size_t j = 0; j < stream->count; j++)
            process->locations[stream->location].events += stream->blocks[j].events;
        if (process->end_ticks < stream->blocks[stream->count - 1].last)
            process->end_ticks = stream->blocks[stream->count - 1].last;
    }
    if (process->end_ticks < process->start_ticks)
        process->end_ticks = process->start_ticks;
}

/* Definitions may be lost: of calls, it must still be told that there are some. */
static bool add_unknown(struct trace_source *source, struct trace_definitions *definitions)
{
    source->unknown = (uint32_t)definitions->process->function_count;
    return trace_definitions_add_function(definitions, "(unknown)");
}

static bool scan_file(struct scan *scan, struct trace_process *process, const char *path,
                      char **problem)
{
    struct trace_source *source = scan->source;
    char magic[TRACE_MAGIC_SIZE];
    struct stat status;
    if (scan->descriptor < 0 || fstat(scan->descriptor, &status)) {
        *problem = qmpi_message("cannot read %s: %s\nhint: give the directory of a trace, or a "
                                "file *%s in it",
                                path, strerror(errno), TRACE_FILE_SUFFIX);
        return false;
    }
    if (!S_ISREG(status.st_mode) || !read_at(scan->descriptor, magic, sizeof magic, 0) ||
        memcmp(magic, TRACE_MAGIC, sizeof magic) != 0) {
        *problem = qmpi_message("%s is no trace of qmpi\nhint: give the directory of a trace, or a "
                                "file *%s in it",
                                path, TRACE_FILE_SUFFIX);
        return false;
    }
    source->size = (uint64_t)status.st_size;
    scan->definitions->budget = BUDGET + BUDGET_FACTOR * source->size;
    find_blocks(scan, process);
    memcpy(source->fields, scan->definitions->fields, sizeof source->fields);
    sort_blocks(source);
    free(process->file);
    process->file = strdup(path);
    source->unknown = TRACE_NONE;
    if (!process->file || !make_streams(source) ||
        (source->damaged && !add_unknown(source, scan->definitions)) ||
        !trace_definitions_finish(scan->definitions)) {
        *problem = qmpi_message("%s: memory is exhausted\nhint: read fewer processes", path);
        return false;
    }
    if (source->lacks_zstd) {
        *problem =
            qmpi_message("%s is compressed by Zstandard, which this qmpi cannot read here\n%-s",
                         path, trace_zstd_hint());
        return false;
    }
    note_events(source, process);
    return true;
}

bool trace_source_open(struct trace_source *source, struct trace_process *process, const char *path,
                       char **problem)
{
    *source = (struct trace_source){.path = strdup(path)};
    *process = (struct trace_process){.rank = TRACE_UNDEFINED};
    struct trace_definitions *definitions = calloc(1, sizeof *definitions);
    struct scan scan = {.source = source, .definitions = definitions};
    if (!source->path || !definitions) {
        free(definitions);
        *problem = qmpi_message("%s: memory is exhausted\nhint: read fewer processes", path);
        return false;
    }
    definitions->process = process;
    memcpy(definitions->fields, trace_kind_fields, sizeof trace_kind_fields);
    scan.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_read = scan_file(&scan, process, path, problem);
    if (scan.descriptor >= 0)
        close(scan.descriptor);
    trace_bytes_free(&scan.head);
    trace_bytes_free(&scan.stored);
    trace_bytes_free(&scan.body);
    free(definitions);
    if (!is_read) {
        trace_source_close(source);
        trace_process_clear(process);
    }
    return is_read;
}

void trace_source_close(struct trace_source *source)
{
    for (size_t i = 0; i < source->stream_count; i++)
        trace_stack_free(&source->streams[i].end);
    free(source->streams);
    free(source->blocks);
    free(source->path);
    *source = (struct trace_source){0};
}

bool trace_source_load(const struct trace_source *source, const struct trace_source_block *block,
                       struct trace_loaded_block *loaded, struct trace_bytes *scratch)
{
    struct trace_block found;
    const int descriptor = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    bool whole =
        read_head(descriptor, block->offset, &found, scratch) &&
        trace_events_head_read(&loaded->head, &loaded->stack, scratch->data, scratch->size) &&
        read_body(descriptor, block->offset, &found, &loaded->body, scratch);
    close(descriptor);
    /* The file may have been replaced. */
    const struct trace_events_head *head = &loaded->head;
    return whole && found.type == TRACE_BLOCK_EVENTS && head->location == block->location &&
           head->stream == block->stream && head->number == block->number &&
           head->events == block->events && head->first == block->first &&
           head->last == block->last;
}

void trace_loaded_block_free(struct trace_loaded_block *loaded)
{
    trace_stack_free(&loaded->stack);
    trace_bytes_free(&loaded->body);
    *loaded = (struct trace_loaded_block){0};
}
