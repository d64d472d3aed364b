/* SPDX-License-Identifier: MIT */
/* See source.h: opens the file of a process. */
#define _GNU_SOURCE
#include "trace/block_file.h"
#include "trace/compression.h"
#include "trace/kinds.h"
#include "trace/records.h"
#include "trace/scan.h"
#include "trace/source.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Definitions of a file may take this much memory, and this many times the size of the file. */
#define BUDGET (UINT64_C(256) << 20)
#define BUDGET_FACTOR 64

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

static bool read_file(struct trace_source *source, struct trace_process *process,
                      struct trace_definitions *definitions, int descriptor, char **problem)
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
    if (!S_ISREG(status.st_mode) || !trace_block_file_read(descriptor, magic, sizeof magic, 0) ||
        memcmp(magic, TRACE_MAGIC, sizeof magic) != 0) {
        *problem = qmpi_message(
            "%s is not a trace file of qmpi\nhint: give the directory of a trace, or a "
            "file *%s in it",
            path, TRACE_FILE_SUFFIX);
        return false;
    }
    source->size = (uint64_t)status.st_size;
    definitions->budget = BUDGET + BUDGET_FACTOR * source->size;
    trace_scan(source, process, definitions, descriptor);
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
    if (source->lacks_zstd) {
        *problem =
            qmpi_message("%s is compressed by Zstandard, which this qmpi cannot read here\n%-s",
                         path, trace_zstd_hint());
        return false;
    }
    note_events(source, process);
    return true;
}

/* What a symbolic link names: the link may be gone when a block is read. */
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
    struct trace_definitions *definitions = calloc(1, sizeof *definitions);
    if (!source->path || !definitions) {
        free(definitions);
        *problem = qmpi_message("%s: memory is exhausted\nhint: read fewer processes", path);
        return false;
    }
    definitions->process = process;
    memcpy(definitions->fields, trace_kind_fields, sizeof trace_kind_fields);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_read = read_file(source, process, definitions, descriptor, problem);
    if (descriptor >= 0)
        close(descriptor);
    free(definitions);
    if (!is_read) {
        trace_source_close(source);
        trace_process_clear(process);
    }
    return is_read;
}
