/* SPDX-License-Identifier: MIT */
/* See writer.h. */
#define _GNU_SOURCE
#include "tools/trace/write/writer.h"

#include "tools/trace/file/clock_line.h"
#include "tools/trace/layer.h"
#include "tools/trace/record/objects.h"
#include "tools/trace/record/recorder.h"
#include "tools/trace/write/translator.h"
#include "util/util.h"

#include <qmpi/clock.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- The process ----------------------------------------------------------------------------- */

static void describe_process(const struct layer *layer, struct trace_process *process)
{
    char host[256] = "";
    QMPIX_Clock_info info = {.size = sizeof info};
    QMPIX_Clock_get_info(&info);
    const bool is_counter = info.name && !strcmp(info.name, "tsc");
    gethostname(host, sizeof host - 1);
    *process = (struct trace_process){.file = strdup(layer->writer.path ? layer->writer.path : ""),
                                      .run = {layer->run[0], layer->run[1]},
                                      .rank = layer->rank,
                                      .ranks = layer->ranks,
                                      .tool_id = layer->tool_id,
                                      .host = strdup(host),
                                      .program = realpath("/proc/self/exe", NULL),
                                      .mpi = tool_world_mpi_version(),
                                      .clock = strdup(info.name ? info.name : ""),
                                      .pid = getpid(),
                                      .started = layer->started,
                                      .start_ticks = layer->start_ticks,
                                      .tick = info.tick,
                                      .clock_number = qmpi_launcher_clock_number(is_counter),
                                      .is_ring = layer->options.is_ring,
                                      .omits = atomic_load(&layer->omits)};
    if (!process->program)
        process->program = strdup("");
}

static void free_process(struct trace_process *process)
{
    free(process->file);
    free(process->host);
    free(process->program);
    free(process->mpi);
    free(process->clock);
}

/* Appends what is known about the relation of the clock to the clock of rank 0. If nothing is
 * known, appends a definition without points, but only if `is_needed` is set. */
static void put_clock(const struct layer *layer, struct trace_bytes *definitions, bool is_needed)
{
    enum { POINTS = 2 };
    const uint64_t ticks[POINTS] = {layer->init_ticks, layer->finalize_ticks};
    struct trace_clock_point points[POINTS];
    QMPIX_Clock_info info = {.size = sizeof info};
    size_t count = 0;
    for (size_t i = 0; i < POINTS; i++) {
        uint64_t time, bound;
        if (ticks[i] && QMPIX_Clock_get_world_time(ticks[i], &time, &bound) == MPI_SUCCESS)
            points[count++] = (struct trace_clock_point){ticks[i], (int64_t)time, bound};
    }
    if (!count && !is_needed)
        return;
    QMPIX_Clock_get_info(&info);
    trace_definitions_put_clock(definitions, info.tick, points, count);
}

/* Appends the definitions of the rank and of the clock, which are known after MPI_Init. They are
 * written at once, because the file of a process that is killed later would otherwise lack them. */
static void put_world(const struct layer *layer, struct trace_bytes *definitions,
                      const char *mpi_version)
{
    trace_definitions_put_world(definitions, layer->run, layer->rank, layer->ranks, mpi_version);
    put_clock(layer, definitions, false);
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

/* Locks the file. The lock shows other runs that a process is writing the file: see
 * save/directory.c. */
static void lock_file(struct layer_writer *writer)
{
    writer->locked = writer->output.descriptor;
    flock(writer->locked, LOCK_EX | LOCK_NB);
}

/* Reserves descriptors for the files that are written when MPI is finalized. This is only necessary
 * if the soft limit on descriptors cannot be raised, because the program could then have used up
 * all descriptors. */
static void reserve_descriptors(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < limit.rlim_max)
        return;
    for (int i = 0; i < LAYER_WRITER_RESERVED; i++)
        writer->reserved[i] = qmpi_output_copy_descriptor(writer->output.descriptor);
}

/* Closes the reserved descriptors. If the program has closed one of them and opened a file of its
 * own under the same number, this file stays open. */
void writer_release_descriptors(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    for (int i = 0; i < LAYER_WRITER_RESERVED; i++) {
        if (qmpi_output_is(&writer->output, writer->reserved[i]))
            close(writer->reserved[i]);
        writer->reserved[i] = -1;
    }
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Ends recording after an error, and cuts off a block that was written incompletely. */
static void end_recording(struct layer *layer, int problem)
{
    struct layer_writer *writer = &layer->writer;
    const off_t end = (off_t)atomic_load(&writer->bytes);
    const int descriptor = qmpi_output_descriptor(&writer->output);
    atomic_store(&writer->has_failed, true);
    if (descriptor >= 0 && !ftruncate(descriptor, end))
        lseek(descriptor, end, SEEK_SET);
    if (!writer->has_said)
        qmpi_printf("trace (layer %d): rank %d: cannot write %s: %s; the trace ends here\n"
                    "  hint: use output=PATH to name a directory with more room, or buffer=ring",
                    layer->tool_id, layer->rank, writer->path, strerror(problem));
    writer->has_said = true;
    layer_set_off(layer, LAYER_OFF_FAILED, true);
}

/* Writes whole blocks and empties `bytes`. If this fails, prints a message once and ends recording;
 * the file then ends with the last whole block. */
static void write_bytes(struct layer *layer, struct trace_bytes *bytes)
{
    struct layer_writer *writer = &layer->writer;
    if (!atomic_load(&writer->has_failed) && !bytes->failed) {
        const int problem = qmpi_output_write(&writer->output, bytes->data, bytes->size);
        if (problem)
            end_recording(layer, problem);
        else
            atomic_fetch_add(&writer->bytes, bytes->size);
        if (!problem && writer->output.descriptor != writer->locked)
            lock_file(writer);
    }
    bytes->size = 0;
    bytes->failed = false;
}

/* Replaces the block at a position. The file does not grow, so a limit on its size raises no
 * signal. */
static bool replace_block(struct layer_writer *writer, off_t at)
{
    const int descriptor = qmpi_output_descriptor(&writer->output);
    return descriptor >= 0 &&
           pwrite(descriptor, writer->out.data, writer->out.size, at) == (ssize_t)writer->out.size;
}

/* Writes a block which states that the process is running at the current time `ticks`. If the last
 * block of the file is such a block, too, replaces it. */
static void write_alive_block(struct layer *layer, uint64_t ticks)
{
    struct layer_writer *writer = &layer->writer;
    trace_definitions_put_alive(&writer->new_definitions, ticks);
    trace_definitions_put_block(&writer->out, &writer->new_definitions);
    const uint64_t size = writer->out.size, end = atomic_load(&writer->bytes);
    const bool is_last = writer->alive_size == size && writer->alive_at + size == end;
    writer->alive = ticks;
    if (is_last && !atomic_load(&writer->has_failed) && !writer->out.failed &&
        replace_block(writer, (off_t)writer->alive_at)) {
        writer->out.size = 0;
        return;
    }
    writer->alive_at = end;
    writer->alive_size = size;
    write_bytes(layer, &writer->out);
}

/* Creates the file and its header. Returns 0 or an errno. `path` must stay valid. */
static int create_file(struct layer *layer, const char *path)
{
    struct layer_writer *writer = &layer->writer;
    struct trace_process process;
    const int problem = qmpi_output_open(&writer->output, path, O_CREAT | O_TRUNC, 0666);
    if (problem)
        return problem;
    lock_file(writer);
    describe_process(layer, &process);
    trace_definitions_put_header(&writer->out, &process);
    put_world(layer, &writer->new_definitions, process.mpi);
    free_process(&process);
    trace_definitions_put_block(&writer->out, &writer->new_definitions);
    write_bytes(layer, &writer->out);
    return 0;
}

/* ---- The end of the file --------------------------------------------------------------------- */

static uint64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}

static void say_end(const struct layer *layer, const struct trace_process *process)
{
    static const char *const ends[] = {
        [TRACE_END_EXIT] = "exit", [TRACE_END_ABORT] = "MPI_Abort", [TRACE_END_SIGNAL] = "signal "};
    const char *detail = process->end_detail ? process->end_detail : "";
    if (layer->has_no_rank)
        qmpi_printf("trace (layer %d): process %d, which did not initialize MPI, has ended (%s%s); "
                    "`qmpi trace` reads %s",
                    layer->tool_id, getpid(), ends[process->end], detail, layer->writer.path);
    else
        qmpi_printf(
            "trace (layer %d): rank %d ended without MPI_Finalize (%s%s); `qmpi trace` reads %s",
            layer->tool_id, layer->rank < 0 ? 0 : layer->rank, ends[process->end], detail,
            layer->writer.path);
}

/* Writes how the process ended and how its clock relates to that of rank 0, and closes the file. */
static void end_file(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    const struct trace_process process = {
        .end = (enum trace_process_end)atomic_load(&writer->process_end),
        .end_detail = (char *)(uintptr_t)writer->process_end_detail,
        .end_ticks = writer->process_end_ticks,
        .dropped = atomic_load(&layer->dropped),
        .memory = peak_memory(),
        .is_ring = layer->options.is_ring,
        .omits = atomic_load(&layer->omits)};
    put_clock(layer, &writer->new_definitions, true);
    trace_definitions_put_end(&writer->new_definitions, &process);
    trace_definitions_put_block(&writer->out, &writer->new_definitions);
    atomic_store(&writer->has_failed, false); /* there may be room on the disk now */
    write_bytes(layer, &writer->out);
    if (process.end != TRACE_END_FINALIZE)
        say_end(layer, &process);
    qmpi_output_close(&writer->output);
}

enum { OUTPUT_SIZE = 256 * 1024, STACK_SIZE = 256 * 1024 };
static const int64_t second = 1000000000;

static int64_t clock_now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * second + time.tv_nsec;
}

/* ---- Calls in progress ----------------------------------------------------------------------- */

/*
 * Most calls are recorded when they have ended. If a call lasts long, or does not end, the writer
 * finds its beginning in the flight of the thread (toolkit/flights.h), and writes it while the call
 * is in progress. The writer reads a flight word by word. What it has read is consistent if the
 * mark of the flight is the same afterwards.
 */

/* Only calls that last longer than this, in nanoseconds, are written while they are in progress. */
enum { PROGRESS_LEAST = 100000000 };

/* The innermost call in progress of a recorder, if nothing about it has been recorded yet. */
struct progress {
    const struct flight *flight; /* NULL if there is none */
    uint64_t mark;
};

/* Finds the call in progress. This function must be called before the records of the thread are
 * translated: if the same call is still in progress after that, all earlier records have been
 * translated. */
static struct progress find_progress(const struct recorder *recorder)
{
    const struct flight *flight = &recorder->flights.first;
    for (; flight; flight = FLIGHT_GET(flight->inner)) {
        const uint64_t mark = FLIGHT_GET(flight->mark);
        if (flight_state(mark) == FLIGHT_RUNS)
            return (struct progress){flight, mark};
        if (flight_state(mark) == FLIGHT_ENDED)
            break;
    }
    return (struct progress){NULL, 0};
}

/* Returns whether the call is still in progress, or there was none. */
static bool is_in_progress(const struct progress *progress)
{
    return !progress->flight || FLIGHT_GET(progress->flight->mark) == progress->mark;
}

/* Writes the beginning of the call to its stream if the call has lasted for at least `least`
 * nanoseconds. */
static void begin_early(struct layer *layer, const struct recorder *recorder,
                        const struct progress *progress, int64_t least)
{
    const struct flight *flight = progress->flight;
    const uint64_t now = ticks_now();
    uint64_t begin = 0;
    if (!flight || !atomic_load(&recorder->has_location))
        return;
    const uint64_t number = FLIGHT_GET(flight->number);
    const QMPIX_Call *call = FLIGHT_GET(flight->call);
    const uint32_t location = atomic_load(&recorder->location),
                   stream = atomic_load(&recorder->stream);
    const int64_t thread_id = atomic_load(&recorder->thread_id);
    if (!tool_safe_copy(&begin, (const char *)call + flights_begin_place, sizeof begin) ||
        flight_is_overwritten(flight, FLIGHT_GET(flight->word)) || !is_in_progress(progress))
        return;
    if (!begin || begin > now)
        begin = now; /* the call is about to begin */
    if ((int64_t)ticks_nanoseconds(now - begin) < least)
        return;
    struct translator *translator = translator_find(layer, location, stream, thread_id);
    /* If the stream has an event that is later than the beginning, the call has just been
     * recorded. */
    const bool is_open = translator && translator->has_early && translator->early_ticks == begin;
    if (translator && !is_open && translator->last <= begin)
        translator_begin_early(translator, number, begin);
}

static uint64_t last_event_ticks(const struct layer_writer *writer)
{
    uint64_t last = 0;
    for (size_t i = 0; i < writer->location_room; i++) {
        for (const struct translator *translator = writer->translators[i]; translator;
             translator = translator->next)
            last = translator->last > last ? translator->last : last;
    }
    return last;
}

/* If the last event was some time ago, writes that the process is running, so that readers know how
 * long an unfinished call lasted. The longer nothing happens, the less often this is written. If
 * the process is then killed, the call seems too short by at most an eighth of the time since the
 * last event, plus the second between two rounds. */
static void write_alive(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    const uint64_t now = ticks_now(), last = last_event_ticks(writer);
    if (!last || now <= last || (int64_t)ticks_nanoseconds(now - last) < PROGRESS_LEAST)
        return;
    if (writer->alive > last && now - writer->alive < (now - last) / 8)
        return;
    write_alive_block(layer, now);
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* Keeps a translated chunk until the end of the round. If it were given back earlier, a thread
 * could take it again, and recorder->chunk would be the same chunk with other records. */
static void keep_done_chunk(struct layer_writer *writer, struct record_chunk *chunk)
{
    chunk->next = writer->done;
    writer->done = chunk;
}

static void give_back_chunks(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    while (writer->done) {
        struct record_chunk *chunk = writer->done;
        writer->done = chunk->next;
        record_chunk_give_back(layer->pool, chunk);
    }
}

static void write_output(struct layer *layer, size_t least)
{
    struct layer_writer *writer = &layer->writer;
    if (writer->out.size > least)
        write_bytes(layer, &writer->out);
}

static void translate_chunk(struct layer *layer, struct record_chunk *chunk)
{
    struct translator *translator = translator_of_chunk(layer, chunk);
    if (translator)
        translator_read(translator, chunk);
    write_output(layer, OUTPUT_SIZE);
}

/* Translates a chunk that was handed over. */
static void translate_whole_chunk(struct layer *layer, struct record_chunk *chunk)
{
    translate_chunk(layer, chunk);
    struct translator *translator = chunk->ends_thread ? translator_of_chunk(layer, chunk) : NULL;
    if (translator) {
        translator_finish_block(translator);
        translator_free(translator);
    }
}

/* If a part of a chunk was written and the rest is dropped, breaks the sequence of chunks, so that
 * the next chunk is not taken for the continuation of the written part. */
static void break_sequence(struct layer *layer, const struct record_chunk *chunk)
{
    struct translator *translator =
        chunk->read == chunk->data ? NULL : translator_of_chunk(layer, chunk);
    if (translator)
        translator->sequence = UINT32_MAX;
}

/* With buffer=ring, drops the chunks that are older than keep= says, and the oldest ones if there
 * is too little room for new ones. */
static void trim_ring(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    const uint32_t reserve = layer->pool->most / 8 + 1;
    const uint64_t history = layer->options.history;
    const uint64_t time = ticks_now();
    while (writer->ring) {
        struct record_chunk *chunk = writer->ring;
        const bool is_old = history > 0 && ticks_nanoseconds(time - chunk->closed) > history;
        if (!is_old && record_pool_room(layer->pool) >= reserve)
            return;
        writer->ring = chunk->next;
        if (!writer->ring)
            writer->ring_end = &writer->ring;
        atomic_fetch_or(&layer->omits, (unsigned)TRACE_OMITS_BEGINNING);
        break_sequence(layer, chunk);
        record_chunk_give_back(layer->pool, chunk);
    }
}

/* Takes the chunks that were handed over. */
static void take_queue(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    for (struct record_chunk *chunk = record_pool_take_queue(layer->pool), *next; chunk;
         chunk = next) {
        next = chunk->next;
        if (layer->options.is_ring) {
            chunk->next = NULL;
            *writer->ring_end = chunk;
            writer->ring_end = &chunk->next;
        } else {
            translate_whole_chunk(layer, chunk);
            keep_done_chunk(writer, chunk);
        }
    }
}

static void translate_ring(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    for (struct record_chunk *chunk = writer->ring, *next; chunk; chunk = next) {
        next = chunk->next;
        translate_whole_chunk(layer, chunk);
        keep_done_chunk(writer, chunk);
    }
    writer->ring = NULL;
    writer->ring_end = &writer->ring;
}

/*
 * Translates the chunk that a thread is filling. The chunk is read from the recorder first and the
 * queue is translated after that, so all earlier chunks of the thread are in the queue. If the
 * thread hands over the chunk meanwhile, it is in the queue and no longer in the recorder.
 */
static void translate_present_chunk(struct layer *layer, struct recorder *recorder, bool with_ring)
{
    struct record_chunk *chunk = atomic_load(&recorder->chunk);
    take_queue(layer);
    if (with_ring)
        translate_ring(layer);
    /* If the thread hands the chunk over from now on, the rest is read from the queue. */
    if (chunk != &record_chunk_none && atomic_load(&recorder->chunk) == chunk)
        translate_chunk(layer, chunk);
}

static struct translator *find_translator(struct layer_writer *writer,
                                          const struct recorder *recorder)
{
    const uint32_t location = atomic_load(&recorder->location);
    if (!atomic_load(&recorder->has_location) || location >= writer->location_room)
        return NULL;
    struct translator *translator = writer->translators[location];
    while (translator && translator->stream != atomic_load(&recorder->stream))
        translator = translator->next;
    return translator;
}

static void write_blocks(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    for (size_t i = 0; i < writer->location_room; i++) {
        for (struct translator *translator = writer->translators[i]; translator;
             translator = translator->next)
            translator_finish_block(translator);
    }
    if (atomic_exchange(&writer->has_world, false))
        put_world(layer, &writer->new_definitions, writer->mpi ? writer->mpi : "");
    record_definitions_write(layer, &writer->new_definitions);
    if (writer->new_definitions.size)
        trace_definitions_put_block(&writer->out, &writer->new_definitions);
    write_output(layer, 0);
}

/* Translates all records of a recorder. `with_ring` says whether this includes chunks that a ring
 * keeps. Returns the call in progress. */
static struct progress translate_recorder(struct layer *layer, struct recorder *recorder,
                                          bool with_ring)
{
    enum { TRIES = 3 }; /* the next round reads what a running thread adds after that */
    struct progress progress;
    int tries = 0;
    do {
        progress = find_progress(recorder);
        translate_present_chunk(layer, recorder, with_ring);
    } while (!is_in_progress(&progress) && ++tries < TRIES);
    return progress;
}

/* Writes everything that was recorded. `is_last` says that no records follow. */
static void write_all(struct layer *layer, bool is_last)
{
    struct layer_writer *writer = &layer->writer;
    for (struct recorder *recorder = atomic_load(&layer->recorders); recorder;
         recorder = recorder->next) {
        const struct progress progress = translate_recorder(layer, recorder, true);
        struct translator *translator = is_last ? find_translator(writer, recorder) : NULL;
        if (translator)
            translator_put_lost(translator, recorder);
        begin_early(layer, recorder, &progress, is_last ? 0 : PROGRESS_LEAST);
    }
    take_queue(layer);
    translate_ring(layer);
    write_blocks(layer);
}

/* Writes what has been recorded since the last round. Not called if there is a ring. */
static void write_recent(struct layer *layer)
{
    for (struct recorder *recorder = atomic_load(&layer->recorders); recorder;
         recorder = recorder->next) {
        const struct progress progress = translate_recorder(layer, recorder, false);
        begin_early(layer, recorder, &progress, PROGRESS_LEAST);
    }
    write_blocks(layer);
    write_alive(layer);
}

/* ---- The thread ------------------------------------------------------------------------------ */

static int64_t earlier(int64_t one, int64_t other)
{
    return other && other < one ? other : one;
}

/* Waits until there is something to do, but at most until `until`, a time of CLOCK_MONOTONIC. */
static void wait_for_work(struct layer_writer *writer, int64_t until)
{
    const int64_t left = until - clock_now(CLOCK_MONOTONIC);
    if (left > 0) {
        const int64_t when = clock_now(CLOCK_REALTIME) + left;
        const struct timespec time = {when / second, when % second};
        while (sem_timedwait(&writer->work, &time) && errno == EINTR)
            continue;
    }
    while (!sem_trywait(&writer->work))
        continue;
}

/* Switches recording on at begin= and off at end=. */
static void switch_window(struct layer *layer, int64_t time)
{
    struct layer_writer *writer = &layer->writer;
    if (writer->begin_at && time >= writer->begin_at) {
        writer->begin_at = 0;
        layer_set_off(layer, LAYER_OFF_BEGIN, false);
    }
    if (writer->end_at && time >= writer->end_at) {
        writer->end_at = 0;
        layer_set_off(layer, LAYER_OFF_END, true);
    }
}

static void do_work(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    take_queue(layer);
    give_back_chunks(layer);
    if (layer->options.is_ring)
        trim_ring(layer);
    if (atomic_exchange(&writer->saves, false)) {
        write_all(layer, false);
        write_alive(layer);
        give_back_chunks(layer);
    }
}

static void *run_writer(void *data)
{
    struct layer *layer = data;
    struct layer_writer *writer = &layer->writer;
    int64_t next = clock_now(CLOCK_MONOTONIC) + second;
    /* This thread has inherited the program's floating-point environment, in which its computations
     * could cause signals. */
    struct qmpi_arithmetic ignored;
    qmpi_arithmetic_begin(&ignored);
    while (!atomic_load(&writer->process_end)) {
        wait_for_work(writer, earlier(earlier(next, writer->begin_at), writer->end_at));
        const int64_t time = clock_now(CLOCK_MONOTONIC);
        switch_window(layer, time);
        do_work(layer);
        if (time >= next) {
            if (!layer->options.is_ring)
                write_recent(layer);
            give_back_chunks(layer);
            next = time + second;
        }
    }
    write_all(layer, true);
    give_back_chunks(layer);
    end_file(layer);
    atomic_store(&writer->has_ended, true);
    return NULL;
}

/* Starts the thread with all signals blocked, because the signals of the program are for its own
 * threads. Opens libzstd before, because the thread must open no library: if the program calls
 * MPI_Finalize in the destructor of a library that is being closed, the loader is locked while
 * MPI_Finalize waits for the thread. */
static int start_writer_thread(struct layer *layer)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    if (layer->options.compress)
        trace_event_encoder_start();
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED); /* the thread is never
                                                                          joined */
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int problem = pthread_create(&thread, &attributes, run_writer, layer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return problem;
}

void writer_make(struct layer *layer)
{
    struct layer_writer *writer = &layer->writer;
    sem_init(&writer->work, 0, 0);
    writer->output.descriptor = -1;
    for (int i = 0; i < LAYER_WRITER_RESERVED; i++)
        writer->reserved[i] = -1;
    writer->ring_end = &writer->ring;
}

static bool say_failure(struct layer *layer, const char *path, const char *what, int problem)
{
    qmpi_printf("trace (layer %d): rank %d: %s %s: %s; nothing is recorded\n"
                "  hint: use output=PATH to name a directory that can be written",
                layer->tool_id, layer->rank, what, path, strerror(problem));
    layer_set_off(layer, LAYER_OFF_FAILED, true);
    return false;
}

bool writer_start(struct layer *layer, const char *path)
{
    struct layer_writer *writer = &layer->writer;
    writer->path = strdup(path);
    int problem = writer->path ? create_file(layer, writer->path) : ENOMEM;
    if (problem)
        return say_failure(layer, path, "cannot create", problem);
    if (layer->options.format->write)
        reserve_descriptors(layer);
    problem = start_writer_thread(layer);
    if (problem)
        return say_failure(layer, path, "cannot start a thread to write", problem);
    atomic_store(&writer->runs, true);
    return true;
}

bool writer_finish(struct layer *layer, enum trace_process_end end, const char *detail, int seconds)
{
    const struct timespec pause = {0, 1000000};
    struct layer_writer *writer = &layer->writer;
    if (!atomic_load(&writer->runs))
        return false;
    writer->process_end_detail = detail;
    writer->process_end_ticks = ticks_now();
    int none = TRACE_END_NONE;
    atomic_compare_exchange_strong(&writer->process_end, &none, (int)end);
    layer_wake_writer(layer);
    for (int64_t i = 0; !atomic_load(&writer->has_ended) && i < seconds * INT64_C(1000); i++)
        nanosleep(&pause, NULL);
    return atomic_load(&writer->has_ended);
}
