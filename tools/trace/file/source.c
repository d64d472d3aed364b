/* SPDX-License-Identifier: MIT */
/* See source.h. */
#define _GNU_SOURCE
#include "tools/trace/file/source.h"

#include "tools/trace/file/block.h"
#include "tools/trace/file/definitions.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The memory for the definitions of a file is limited to BUDGET bytes plus BUDGET_FACTOR times the
 * size of the file. */
#define BUDGET (UINT64_C(256) << 20)
#define BUDGET_FACTOR 64

/* ---- Blocks ---------------------------------------------------------------------------------- */

uint64_t trace_source_begin(const struct trace_source_stream *stream, bool is_ring)
{
    const struct trace_source_block *block = &stream->blocks[0];
    return is_ring && block->number ? block->begin : block->first;
}

bool trace_source_load(const struct trace_source *source, const struct trace_source_block *block,
                       struct trace_source_loaded *loaded, struct trace_bytes *scratch)
{
    struct trace_block found;
    const int descriptor = qmpi_output_open_descriptor(source->path, O_RDONLY | O_NONBLOCK, 0);
    if (descriptor < 0) {
        __atomic_store_n(&((struct trace_source *)(uintptr_t)source)->error, errno,
                         __ATOMIC_RELAXED);
        return false;
    }
    bool whole = trace_block_read_head(descriptor, block->offset, &found, scratch) &&
                 trace_event_decoder_read_head(&loaded->head, &loaded->stack, scratch->data,
                                               scratch->size) &&
                 trace_block_read_body(descriptor, block->offset, &found, &loaded->body, scratch);
    close(descriptor);
    /* The block is compared with what was found before, because the file may have been replaced. */
    const struct trace_event_decoder_head *head = &loaded->head;
    return whole && found.type == TRACE_BLOCK_EVENTS && head->location == block->location &&
           head->stream == block->stream && head->number == block->number &&
           head->events == block->events && head->first == block->first &&
           head->last == block->last;
}

void trace_source_free_block(struct trace_source_loaded *loaded)
{
    trace_event_stack_free(&loaded->stack);
    trace_bytes_free(&loaded->body);
    *loaded = (struct trace_source_loaded){0};
}

/* ---- From the beginning of the file to its end ----------------------------------------------- */

#define SEARCH_SIZE (1 << 16)

/* A file that is being scanned. After bytes that are not a block, the scan continues with the next
 * block. */
struct scan {
    struct trace_source *source;
    struct trace_definitions_reader *definitions;
    int descriptor;
    struct trace_event_stack stack;
    struct trace_bytes head, stored, body; /* temporary memory */
};

static bool add_block(struct scan *scan, uint64_t offset, uint64_t size)
{
    struct trace_source *source = scan->source;
    struct trace_event_decoder_head head;
    if (!trace_event_decoder_read_head(&head, &scan->stack, scan->head.data, scan->head.size) ||
        !trace_definitions_add_location(scan->definitions, head.location))
        return false;
    if (!QMPI_MEMORY_RESERVE(source->blocks, source->block_room, source->block_count + 1))
        return false;
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

/* Adds a block, whose first bytes and head were read. Returns false if the block is invalid. */
static bool scan_block(struct scan *scan, uint64_t offset, const struct trace_block *block)
{
    struct trace_source *source = scan->source;
    if (block->type != TRACE_BLOCK_EVENTS && block->type != TRACE_BLOCK_DEFINITIONS)
        return true;
    if (block->compression == TRACE_ZSTD && !trace_block_open_zstd()) {
        source->lacks_zstd = true;
        return true;
    }
    if (block->type == TRACE_BLOCK_EVENTS)
        return add_block(scan, offset, trace_block_total(block));
    if (!trace_block_read_body(scan->descriptor, offset, block, &scan->body, &scan->stored))
        return false;
    const bool is_valid =
        trace_definitions_read(scan->definitions, scan->body.data, scan->body.size);
    source->is_exhausted |= scan->definitions->is_exhausted;
    return is_valid || source->is_exhausted;
}

/* Returns the position of the first block at or after `offset`, or the size of the file if there is
 * none. */
static uint64_t find_next_block(struct scan *scan, uint64_t offset)
{
    unsigned char bytes[TRACE_BLOCK_SIZE];
    struct trace_block block;
    const uint64_t size = scan->source->size;
    while (size - offset >= TRACE_BLOCK_SIZE) {
        const size_t part = size - offset < SEARCH_SIZE ? (size_t)(size - offset) : SEARCH_SIZE;
        if (!trace_block_read_bytes(scan->descriptor, &scan->stored, part, offset))
            return size;
        const unsigned char *found =
            memmem(scan->stored.data, part, TRACE_BLOCK_MAGIC, TRACE_BLOCK_MAGIC_SIZE);
        if (!found) {
            offset += part - (TRACE_BLOCK_MAGIC_SIZE - 1);
            continue;
        }
        offset += (uint64_t)(found - scan->stored.data);
        if (size - offset >= TRACE_BLOCK_SIZE &&
            trace_block_read_file(scan->descriptor, bytes, sizeof bytes, offset) &&
            trace_block_read(&block, bytes))
            return offset;
        offset++;
    }
    return size;
}

static void scan_blocks(struct scan *scan, struct trace_process *process)
{
    struct trace_source *source = scan->source;
    unsigned char bytes[TRACE_BLOCK_SIZE];
    struct trace_block block;
    uint64_t offset = TRACE_MAGIC_SIZE;
    while (offset < source->size) {
        const uint64_t left = source->size - offset;
        if (left < TRACE_BLOCK_SIZE ||
            !trace_block_read_file(scan->descriptor, bytes, sizeof bytes, offset) ||
            !trace_block_read(&block, bytes)) {
            const uint64_t next = find_next_block(scan, offset + 1);
            if (next == source->size)
                break;
            source->damaged += next - offset;
            offset = next;
            continue;
        }
        if (trace_block_total(&block) > left)
            break;
        if (!trace_block_read_head(scan->descriptor, offset, &block, &scan->head) ||
            !scan_block(scan, offset, &block))
            source->damaged += trace_block_total(&block);
        offset += trace_block_total(&block);
    }
    process->unfinished = source->size - offset;
}

static void scan_file(struct trace_source *source, struct trace_process *process,
                      struct trace_definitions_reader *definitions, int descriptor)
{
    struct scan scan = {.source = source, .definitions = definitions, .descriptor = descriptor};
    scan_blocks(&scan, process);
    trace_event_stack_free(&scan.stack);
    trace_bytes_free(&scan.head);
    trace_bytes_free(&scan.stored);
    trace_bytes_free(&scan.body);
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

/* Sorts the blocks. Removes blocks that contradict the previous block, because they contain the
 * same events or earlier times. */
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

/* Sets the stack of `loaded` to the calls in progress at the end of a block. Returns false if the
 * block is invalid or memory is exhausted. */
static bool find_stream_end(const struct trace_source *source,
                            const struct trace_source_block *block,
                            struct trace_source_loaded *loaded, struct trace_event_decoder *decoder,
                            struct trace_bytes *scratch)
{
    struct trace_event event;
    if (!trace_source_load(source, block, loaded, scratch) ||
        !trace_event_decoder_begin(decoder, &loaded->head, loaded->body.data, loaded->body.size))
        return false;
    for (uint64_t number = block->number; trace_event_decoder_next(decoder, &event); number++)
        if (loaded->stack.depth > TRACE_EVENT_CALLS_MAX ||
            !trace_event_stack_note(&loaded->stack, &event, event.ticks, number))
            return false;
    return !decoder->left;
}

/* Finds the streams. A stream ends at the last block that can be decoded. */
static bool make_streams(struct trace_source *source)
{
    struct trace_event_decoder *decoder = calloc(1, sizeof *decoder);
    struct trace_source_loaded loaded = {0};
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
            if (find_stream_end(source, last, &loaded, decoder, &scratch))
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
            loaded.stack = (struct trace_event_stack){0};
        }
        i = end;
    }
    trace_event_decoder_free(decoder);
    free(decoder);
    trace_source_free_block(&loaded);
    trace_bytes_free(&scratch);
    return true;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Sets the members of a process that are computed from the heads of blocks. */
static void set_event_counts(const struct trace_source *source, struct trace_process *process)
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

/* Adds the function that stands for functions whose definition was lost. */
static bool add_unknown(struct trace_source *source, struct trace_definitions_reader *definitions)
{
    source->unknown = (uint32_t)definitions->process->function_count;
    return trace_definitions_add_function(definitions, "(unknown)");
}

static bool read_source(struct trace_source *source, struct trace_process *process,
                        struct trace_definitions_reader *definitions, int descriptor,
                        char **problem)
{
    const char *path = source->path;
    char magic[TRACE_MAGIC_SIZE];
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status)) {
        *problem = qmpi_message("cannot read %s: %s\nhint: give the directory of a trace, or a "
                                "file *%s in it",
                                path, strerror(errno), TRACE_FILE_SUFFIX);
        return false;
    }
    if (!S_ISREG(status.st_mode) || !trace_block_read_file(descriptor, magic, sizeof magic, 0) ||
        memcmp(magic, TRACE_MAGIC, sizeof magic) != 0) {
        *problem = qmpi_message(
            "%s is not a trace file of qmpi\nhint: give the directory of a trace, or a "
            "file *%s in it",
            path, TRACE_FILE_SUFFIX);
        return false;
    }
    source->size = (uint64_t)status.st_size;
    definitions->budget = BUDGET + BUDGET_FACTOR * source->size;
    scan_file(source, process, definitions, descriptor);
    memcpy(source->fields, definitions->fields, sizeof source->fields);
    sort_blocks(source);
    free(process->file);
    process->file = strdup(path);
    source->unknown = TRACE_NONE;
    if (!process->file || !make_streams(source) ||
        (source->damaged && !add_unknown(source, definitions)) ||
        !trace_definitions_finish(definitions)) {
        *problem = qmpi_message("%s: memory is exhausted\nhint: read fewer processes", path);
        return false;
    }
    if (source->error) {
        *problem = qmpi_message("cannot read %s: %s\nhint: raise the limit on open files", path,
                                strerror(source->error));
        return false;
    }
    if (source->lacks_zstd) {
        *problem =
            qmpi_message("%s is compressed by Zstandard, which this qmpi cannot read here\n%-s",
                         path, trace_block_zstd_hint());
        return false;
    }
    if (!definitions->has_process) {
        *problem =
            qmpi_message("%s does not describe its process: it is damaged, or was cut off at "
                         "its beginning\n"
                         "hint: copy the file again, or record the trace again",
                         path);
        return false;
    }
    set_event_counts(source, process);
    return true;
}

/* Returns a copy of the path. If it is a symbolic link, returns the path of the file, because the
 * link may have been removed when a block is read. */
static char *real_path(const char *path)
{
    struct stat status;
    char *real = !lstat(path, &status) && S_ISLNK(status.st_mode) ? realpath(path, NULL) : NULL;
    return real ? real : strdup(path);
}

bool trace_source_open(struct trace_source *source, struct trace_process *process, const char *path,
                       char **problem)
{
    *source = (struct trace_source){.path = real_path(path)};
    *process = (struct trace_process){.rank = TRACE_UNDEFINED};
    struct trace_definitions_reader *definitions = calloc(1, sizeof *definitions);
    if (!source->path || !definitions) {
        free(definitions);
        *problem = qmpi_message("%s: memory is exhausted\nhint: read fewer processes", path);
        return false;
    }
    definitions->process = process;
    memcpy(definitions->fields, trace_event_fields, sizeof trace_event_fields);
    const int descriptor = qmpi_output_open_descriptor(path, O_RDONLY | O_NONBLOCK, 0);
    const bool is_read = read_source(source, process, definitions, descriptor, problem);
    if (descriptor >= 0)
        close(descriptor);
    free(definitions);
    if (!is_read) {
        trace_source_close(source);
        trace_definitions_clear(process);
    }
    return is_read;
}

void trace_source_close(struct trace_source *source)
{
    for (size_t i = 0; i < source->stream_count; i++)
        trace_event_stack_free(&source->streams[i].end);
    free(source->streams);
    free(source->blocks);
    free(source->path);
    *source = (struct trace_source){0};
}
