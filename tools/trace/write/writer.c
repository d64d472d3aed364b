/* SPDX-License-Identifier: MIT */
/* See writer.h. */
#define _GNU_SOURCE
#include "write/writer.h"

#include "layer.h"
#include "record/recorder.h"
#include "record/switches.h"
#include "util/util.h"
#include "write/definitions.h"
#include "write/end.h"
#include "write/file.h"
#include "write/process.h"
#include "write/progress.h"
#include "write/translate.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OUTPUT = 256 * 1024, STACK = 256 * 1024 };
static const int64_t second = 1000000000;

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * second + time.tv_nsec;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* They are given back later: until then, no thread begins one of them anew. */
static void finish_chunk(struct writer *writer, struct chunk *chunk)
{
    chunk->next = writer->done;
    writer->done = chunk;
}

static void give_back(struct layer *layer)
{
    struct writer *writer = &layer->writer;
    while (writer->done) {
        struct chunk *chunk = writer->done;
        writer->done = chunk->next;
        chunk_give_back(&layer->pool, chunk);
    }
}

static void write_out(struct layer *layer, size_t least)
{
    struct writer *writer = &layer->writer;
    if (writer->out.size > least)
        file_write(layer, &writer->out);
}

static void write_part(struct layer *layer, struct chunk *chunk)
{
    struct stream *stream = stream_of_chunk(layer, chunk);
    if (stream)
        translate_chunk(layer, stream, chunk);
    write_out(layer, OUTPUT);
}

/* One that was handed over. */
static void write_chunk(struct layer *layer, struct chunk *chunk)
{
    write_part(layer, chunk);
    struct stream *stream = chunk->ends ? stream_of_chunk(layer, chunk) : NULL;
    if (stream) {
        stream_finish_block(layer, stream);
        stream_end(layer, stream);
    }
}

/* Of what is in a chunk, a part has been written, and the rest is thrown away: the next chunk does
 * not follow what was written. */
static void forget_rest(struct layer *layer, const struct chunk *chunk)
{
    struct stream *stream = chunk->read == chunk->data ? NULL : stream_of_chunk(layer, chunk);
    if (stream)
        stream->sequence = UINT32_MAX;
}

/* With buffer=ring, the oldest are thrown away, so that there is room for new ones. */
static void trim_ring(struct layer *layer)
{
    struct writer *writer = &layer->writer;
    const uint32_t reserve = layer->pool.most / 8 + 1;
    const double history = layer->options.history * 1e9;
    const uint64_t time = ticks_now();
    while (writer->ring) {
        struct chunk *chunk = writer->ring;
        const bool is_old =
            history > 0 && (double)ticks_nanoseconds(time - chunk->closed) > history;
        if (!is_old && chunk_pool_room(&layer->pool) >= reserve)
            return;
        writer->ring = chunk->next;
        if (!writer->ring)
            writer->ring_end = &writer->ring;
        forget_rest(layer, chunk);
        chunk_give_back(&layer->pool, chunk);
    }
}

/* Takes what was handed over. */
static void take_queue(struct layer *layer)
{
    struct writer *writer = &layer->writer;
    for (struct chunk *chunk = chunk_queue_take(&layer->pool), *next; chunk; chunk = next) {
        next = chunk->next;
        if (layer->options.is_ring) {
            chunk->next = NULL;
            *writer->ring_end = chunk;
            writer->ring_end = &chunk->next;
        } else {
            write_chunk(layer, chunk);
            finish_chunk(writer, chunk);
        }
    }
}

static void write_ring(struct layer *layer)
{
    struct writer *writer = &layer->writer;
    for (struct chunk *chunk = writer->ring, *next; chunk; chunk = next) {
        next = chunk->next;
        write_chunk(layer, chunk);
        finish_chunk(writer, chunk);
    }
    writer->ring = NULL;
    writer->ring_end = &writer->ring;
}

/*
 * Writes what is in a chunk that a thread is filling. Whatever the thread has handed over before it
 * began this chunk is in the queue by now; if it hands over this chunk meanwhile, the chunk is in
 * the queue, too, and no longer here.
 */
static void write_present(struct layer *layer, struct recorder *recorder, bool ends)
{
    struct chunk *chunk = atomic_load(&recorder->chunk);
    take_queue(layer);
    if (ends)
        write_ring(layer);
    if (chunk != &chunk_none && atomic_load(&recorder->chunk) == chunk)
        write_part(layer, chunk); /* the thread may hand it over now, and end */
}

static struct stream *find_stream(struct writer *writer, const struct recorder *recorder)
{
    const uint32_t location = atomic_load(&recorder->location);
    if (!atomic_load(&recorder->has_location) || location >= writer->stream_count)
        return NULL;
    struct stream *stream = writer->streams[location];
    while (stream && stream->number != atomic_load(&recorder->stream))
        stream = stream->next;
    return stream;
}

static void finish_blocks(struct layer *layer)
{
    struct writer *writer = &layer->writer;
    for (uint32_t i = 0; i < writer->stream_count; i++) {
        for (struct stream *stream = writer->streams[i]; stream; stream = stream->next)
            stream_finish_block(layer, stream);
    }
    if (atomic_exchange(&writer->has_world, false))
        process_put_world(layer, &writer->records, writer->mpi ? writer->mpi : "");
    definitions_take(layer, &writer->records);
    if (writer->records.size)
        trace_put_definitions(&writer->out, &writer->records);
    write_out(layer, 0);
}

/* What a recorder has. `with_ring`: also chunks that are kept. Returns the call in progress. */
static struct progress write_recorder(struct layer *layer, struct recorder *recorder,
                                      bool with_ring)
{
    enum { TRIES = 3 }; /* of a thread that runs, the rest follows later */
    struct progress progress;
    int tries = 0;
    do {
        progress = progress_find(recorder);
        write_present(layer, recorder, with_ring);
    } while (!progress_is_current(&progress) && ++tries < TRIES);
    return progress;
}

/* All that has been recorded. `ends`: nothing follows it. */
static void write_all(struct layer *layer, bool ends)
{
    struct writer *writer = &layer->writer;
    for (struct recorder *recorder = atomic_load(&layer->recorders); recorder;
         recorder = recorder->next) {
        const struct progress progress = write_recorder(layer, recorder, true);
        struct stream *stream = ends ? find_stream(writer, recorder) : NULL;
        if (stream)
            translate_lost(layer, stream, recorder);
        progress_put(layer, recorder, &progress, ends ? 0 : PROGRESS_LEAST);
    }
    take_queue(layer);
    write_ring(layer);
    finish_blocks(layer);
}

static void write_some(struct layer *layer)
{
    for (struct recorder *recorder = atomic_load(&layer->recorders); recorder;
         recorder = recorder->next) {
        const struct progress progress = write_recorder(layer, recorder, false);
        progress_put(layer, recorder, &progress, PROGRESS_LEAST);
    }
    finish_blocks(layer);
    progress_put_alive(layer);
}

/* ---- The thread ------------------------------------------------------------------------------ */

static int64_t earlier(int64_t one, int64_t other)
{
    return other && other < one ? other : one;
}

/* Until there is something to do, or `until`. */
static void wait_for_work(struct writer *writer, int64_t until)
{
    struct timespec time;
    const int64_t left = until - now(CLOCK_MONOTONIC);
    if (left <= 0) {
        while (!sem_trywait(&writer->work))
            continue;
        return;
    }
    const int64_t when = now(CLOCK_REALTIME) + left;
    time = (struct timespec){when / second, when % second};
    while (sem_timedwait(&writer->work, &time) && errno == EINTR)
        continue;
    while (!sem_trywait(&writer->work))
        continue;
}

static void switch_window(struct layer *layer, int64_t time)
{
    struct writer *writer = &layer->writer;
    if (writer->begin && time >= writer->begin) {
        writer->begin = 0;
        switches_set(layer, OFF_BEGIN, false);
    }
    if (writer->stop && time >= writer->stop) {
        writer->stop = 0;
        switches_set(layer, OFF_END, true);
    }
}

static void work(struct layer *layer)
{
    struct writer *writer = &layer->writer;
    take_queue(layer);
    give_back(layer);
    if (layer->options.is_ring)
        trim_ring(layer);
    if (atomic_exchange(&writer->saves, false)) {
        write_all(layer, false);
        progress_put_alive(layer);
        give_back(layer);
    }
}

static void *run(void *data)
{
    struct layer *layer = data;
    struct writer *writer = &layer->writer;
    int64_t next = now(CLOCK_MONOTONIC) + second;
    while (!atomic_load(&writer->end)) {
        wait_for_work(writer, earlier(earlier(next, writer->begin), writer->stop));
        const int64_t time = now(CLOCK_MONOTONIC);
        switch_window(layer, time);
        work(layer);
        if (time >= next) {
            if (!layer->options.is_ring)
                write_some(layer);
            give_back(layer);
            next = time + second;
        }
    }
    write_all(layer, true);
    give_back(layer);
    end_write(layer);
    atomic_store(&writer->has_ended, true);
    return NULL;
}

/* The application's signals are for its own threads. */
static int start_thread(struct layer *layer)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int problem = pthread_create(&layer->writer.thread, &attributes, run, layer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return problem;
}

void writer_make(struct layer *layer)
{
    struct writer *writer = &layer->writer;
    sem_init(&writer->work, 0, 0);
    writer->descriptor = -1;
    writer->ring_end = &writer->ring;
}

static bool fail(struct layer *layer, const char *path, const char *what, int problem)
{
    qmpi_printf("trace (layer %d): rank %d: %s %s: %s; nothing is recorded\n"
                "  hint: use output=PATH to name a directory that can be written",
                layer->tool_id, layer->rank, what, path, strerror(problem));
    switches_set(layer, OFF_FAILED, true);
    return false;
}

bool writer_start(struct layer *layer, const char *path)
{
    struct writer *writer = &layer->writer;
    writer->path = strdup(path);
    if (!writer->path || !file_create(layer, path))
        return fail(layer, path, "cannot create", errno);
    const int problem = start_thread(layer);
    if (problem)
        return fail(layer, path, "cannot start a thread to write", problem);
    atomic_store(&writer->runs, true);
    return true;
}

bool writer_finish(struct layer *layer, enum trace_end end, const char *detail, int seconds)
{
    const struct timespec pause = {0, 1000000};
    struct writer *writer = &layer->writer;
    if (!atomic_load(&writer->runs))
        return false;
    writer->end_detail = detail;
    writer->end_ticks = ticks_now();
    int none = TRACE_END_NONE;
    atomic_compare_exchange_strong(&writer->end, &none, (int)end);
    writer_wake(writer);
    for (int64_t i = 0; !atomic_load(&writer->has_ended) && i < seconds * INT64_C(1000); i++)
        nanosleep(&pause, NULL);
    return atomic_load(&writer->has_ended);
}
