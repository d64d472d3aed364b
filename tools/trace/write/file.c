/* SPDX-License-Identifier: MIT */
/* See file.h. */
#define _GNU_SOURCE
#include "write/file.h"

#include "layer.h"
#include "record/switches.h"
#include "util/util.h"
#include "write/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

bool file_create(struct layer *layer, const char *path)
{
    struct writer *writer = &layer->writer;
    struct trace_process process;
    writer->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->descriptor < 0)
        return false;
    flock(writer->descriptor, LOCK_EX | LOCK_NB); /* see save/directory.c */
    process_describe(layer, &process);
    trace_put_header(&writer->out, &process);
    process_put_world(layer, &writer->records, process.mpi);
    process_clear(&process);
    trace_put_definitions(&writer->out, &writer->records);
    file_write(layer, &writer->out);
    return true;
}

static bool write_whole(int descriptor, const unsigned char *data, size_t size)
{
    while (size) {
        const ssize_t written = write(descriptor, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

static void fail(struct layer *layer, int problem)
{
    struct writer *writer = &layer->writer;
    const off_t end = (off_t)atomic_load(&writer->bytes);
    atomic_store(&writer->has_failed, true);
    if (!ftruncate(writer->descriptor, end))
        lseek(writer->descriptor, end, SEEK_SET);
    qmpi_printf("trace (layer %d): rank %d: cannot write %s: %s; the trace ends here\n"
                "  hint: use output=PATH to name a directory with more room, or buffer=ring",
                layer->tool_id, layer->rank, writer->path, strerror(problem));
    switches_set(layer, OFF_FAILED, true);
}

void file_write(struct layer *layer, struct trace_bytes *bytes)
{
    struct writer *writer = &layer->writer;
    if (!atomic_load(&writer->has_failed) && !bytes->failed) {
        if (write_whole(writer->descriptor, bytes->data, bytes->size))
            atomic_fetch_add(&writer->bytes, bytes->size);
        else
            fail(layer, errno);
    }
    bytes->size = 0;
    bytes->failed = false;
}

void file_write_alive(struct layer *layer, struct trace_bytes *records)
{
    struct writer *writer = &layer->writer;
    trace_put_definitions(&writer->out, records);
    const uint64_t size = writer->out.size, end = atomic_load(&writer->bytes);
    const bool is_last = writer->alive_size == size && writer->alive_at + size == end;
    if (is_last && !atomic_load(&writer->has_failed) && !writer->out.failed &&
        pwrite(writer->descriptor, writer->out.data, size, (off_t)writer->alive_at) ==
            (ssize_t)size) {
        writer->out.size = 0;
        return;
    }
    writer->alive_at = end;
    writer->alive_size = size;
    file_write(layer, &writer->out);
}
