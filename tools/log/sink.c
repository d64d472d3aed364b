/* SPDX-License-Identifier: MIT */
/* See sink.h. */
#define _GNU_SOURCE
#include "tools/log/sink.h"

#include "tools/log/ring.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { START_MS = 2000, FLUSH_MS = 10000, STEP_MS = 50 };

/* These are values of a sink's `state`. Any other value is the ID of the process in which a thread
 * is opening the sink. */
enum { CLOSED = 0, OPEN = -1 };

/* Whether this process has started the buffers. The flag is in memory that the kernel clears in a
 * forked child, even if the child was created without fork(). */
static atomic_bool *is_here;

static bool is_active(const struct sink_buffer *buffer)
{
    return buffer->shared && atomic_load_explicit(is_here, memory_order_relaxed);
}

/* ---- The buffer: starting the writer --------------------------------------------------------- */

/* Marks this process as the one that starts the buffers. Returns false in a forked child, whose
 * mark the kernel has cleared, and if there can be no such mark. */
static bool mark_process(void)
{
    if (is_here)
        return atomic_load(is_here);
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    is_here = page;
    atomic_store(is_here, madvise(page, size, MADV_WIPEONFORK) == 0);
    return atomic_load(is_here);
}

/* Returns whether the shared memory may be created. A limit on the size of files also applies to
 * memory files, and exceeding it would raise a signal. */
static bool may_make_memory_file(void)
{
    struct rlimit limit;
    return !getrlimit(RLIMIT_FSIZE, &limit) &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= sizeof(struct ring_shared));
}

static struct ring_shared *map_rings(int memory)
{
    if (memory < 0 || ftruncate(memory, sizeof(struct ring_shared)))
        return NULL;
    void *pages = mmap(NULL, sizeof(struct ring_shared), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE, memory, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* Duplicates a descriptor to a number that is not used by the descriptors of a detached program. */
static int duplicate_above(int descriptor)
{
    return fcntl(descriptor, F_DUPFD_CLOEXEC, QMPI_SPAWN_DESCRIPTORS);
}

static bool start_writer(struct ring_shared *shared, char *const *arguments, const int *descriptors)
{
    bool good = true;
    for (int i = 0; i < QMPI_SPAWN_DESCRIPTORS; i++)
        good = good && descriptors[i] >= 0;
    good = good && qmpi_spawn_detached(arguments, descriptors);
    for (int waited = 0; good && waited < START_MS && !atomic_load(&shared->writer);
         waited += STEP_MS)
        ring_wait(&shared->writer, 0, STEP_MS);
    return good && atomic_load(&shared->writer);
}

/* Starts the program at `arguments[0]`, which writes to `output`. If the program cannot be started,
 * the buffer stays unused and buffer_add returns false. */
static void buffer_start(struct sink_buffer *buffer, char *const *arguments,
                         struct qmpi_output *output)
{
    if (!may_make_memory_file() || !mark_process())
        return;
    const int made = memfd_create("qmpi-log", MFD_CLOEXEC);
    struct ring_shared *shared = map_rings(made);
    if (shared) {
        const int descriptors[QMPI_SPAWN_DESCRIPTORS] = {qmpi_spawn_end_of_process(),
                                                         duplicate_above(made),
                                                         duplicate_above(output->descriptor)};
        buffer->output = output;
        if (start_writer(shared, arguments, descriptors))
            buffer->shared = shared;
        else
            munmap(shared, sizeof *shared);
        for (int i = 0; i < QMPI_SPAWN_DESCRIPTORS; i++)
            close(descriptors[i]);
    }
    close(made);
}

/* Returns 0, or the errno of the first write that failed. Lines that are added after a failure are
 * lost. This function is safe in a signal handler. */
static int buffer_error(const struct sink_buffer *buffer)
{
    return is_active(buffer) ? atomic_load(&buffer->shared->error) : 0;
}

/* ---- The buffer: waiting for the writer ------------------------------------------------------ */

static void drain_rings(struct sink_buffer *buffer)
{
    struct qmpi_output_signals signals;
    const int descriptor = qmpi_output_descriptor(buffer->output);
    if (descriptor < 0)
        atomic_store(&buffer->shared->error, errno);
    qmpi_output_signals_block(&signals);
    ring_drain(buffer->shared, descriptor);
    qmpi_output_signals_restore(&signals);
}

/* Returns whether the writer is gone, so that the process must write its lines itself from now on.
 * If so, writes the lines in the rings. If another thread is already writing them, that thread
 * looks for new lines again when it is done. */
static bool take_over(struct sink_buffer *buffer)
{
    struct ring_shared *shared = buffer->shared;
    if (!(atomic_load(&shared->writer) & FUTEX_OWNER_DIED))
        return false;
    atomic_store(&shared->state, WRITER_GONE);
    while (ring_has(shared, 1) && !atomic_exchange(&shared->draining, true)) {
        drain_rings(buffer);
        atomic_store(&shared->draining, false);
    }
    return true;
}

/* Wakes the writer if it sleeps or, with `for_any`, also if it pauses. If the writer is gone,
 * writes the lines in the rings. */
static void wake_writer(struct sink_buffer *buffer, bool for_any)
{
    struct ring_shared *shared = buffer->shared;
    unsigned state = atomic_load(&shared->state);
    if (state == WRITER_GONE)
        take_over(buffer);
    else if ((for_any || state == WRITER_SLEEPS) && state != WRITER_WORKS &&
             atomic_compare_exchange_strong(&shared->state, &state, WRITER_WORKS))
        ring_wake(&shared->state);
}

/* Waits at most FLUSH_MS until all lines that were added are written. This function is safe in a
 * signal handler. */
static void buffer_flush(struct sink_buffer *buffer)
{
    if (!is_active(buffer))
        return;
    struct ring_shared *shared = buffer->shared;
    const unsigned wanted = atomic_fetch_add(&shared->asked, 1) + 1;
    unsigned done = atomic_load(&shared->done);
    wake_writer(buffer, true);
    for (int waited = 0; (int)(done - wanted) < 0 && waited < FLUSH_MS && !take_over(buffer);
         waited += STEP_MS) {
        ring_wait(&shared->done, done, STEP_MS);
        done = atomic_load(&shared->done);
    }
}

/* ---- The buffer: adding lines ---------------------------------------------------------------- */

static bool wait_for_room(struct sink_buffer *buffer, struct ring *ring, uint64_t head)
{
    while (head - atomic_load_explicit(&ring->tail, memory_order_acquire) > RING_SIZE) {
        buffer_flush(buffer);
        if (atomic_load(&buffer->shared->state) == WRITER_GONE)
            return head - atomic_load(&ring->tail) <= RING_SIZE;
    }
    return true;
}

static void use_ring(struct ring_shared *shared, int ring)
{
    int count = atomic_load(&shared->rings);
    while (count <= ring && !atomic_compare_exchange_weak(&shared->rings, &count, ring + 1))
        continue;
}

/* Adds a line to a ring. No other thread and no interrupted work may be using the same ring.
 * Returns false if the caller must write the line itself after buffer_flush. This function is safe
 * in a signal handler. */
static bool buffer_add(struct sink_buffer *buffer, int place, struct ring_call *call,
                       const char *bytes, size_t length)
{
    const size_t unit = sizeof(struct ring_record);
    const size_t size = unit + (length + unit - 1) / unit * unit;
    if (!is_active(buffer) || place < 0 || place >= RING_COUNT || length > RING_SIZE / 4)
        return false;
    struct ring_shared *shared = buffer->shared;
    struct ring *ring = &shared->ring[place];
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    const size_t left = RING_SIZE - head % RING_SIZE, skipped = left < size ? left : 0;
    if (!wait_for_room(buffer, ring, head + skipped + size))
        return false;
    if (!head)
        use_ring(shared, place);
    if (skipped)
        *(struct ring_record *)(void *)(ring->bytes + head % RING_SIZE) =
            (struct ring_record){.length = RECORD_NONE};
    head += skipped;
    struct ring_record *record = (void *)(ring->bytes + head % RING_SIZE);
    record->length = (uint32_t)length;
    memcpy(record + 1, bytes, length);
    record->number = atomic_fetch_add(&shared->number, 1);
    head += size;
    if (call) {
        atomic_store_explicit(&call->ring, place, memory_order_relaxed);
        atomic_store_explicit(&call->head, head, memory_order_relaxed);
    }
    /* The head must be stored before the state is read; see writer.c. */
    atomic_store(&ring->head, head);
    if (__builtin_expect(atomic_load(&shared->state) != WRITER_WORKS, 1))
        wake_writer(buffer, head - atomic_load_explicit(&ring->tail, memory_order_relaxed) >=
                                RING_SIZE / 2);
    return true;
}

/* ---- After the end of the process ------------------------------------------------------------ */

static void copy_end(const struct sink *sink, struct ring_shared *shared)
{
    shared->prefix = sink->prefix;
    shared->start = sink->start;
    atomic_store_explicit(&shared->phase, atomic_load(&sink->phase), memory_order_release);
}

void sink_set_phase(struct sink *sink, int phase, const struct prefix *prefix)
{
    struct timespec now;
    if (prefix) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink->prefix = *prefix;
        sink->start = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)prefix->when;
    }
    atomic_store(&sink->phase, phase);
    if (atomic_load(&sink->state) == OPEN && is_active(&sink->buffer))
        copy_end(sink, sink->buffer.shared);
}

void sink_call_open(const struct sink *sink, struct ring_call *call, int threads)
{
    struct ring_shared *shared = sink->buffer.shared;
    if (!call)
        return;
    int count = atomic_load_explicit(&shared->threads, memory_order_relaxed);
    while (count < threads && !atomic_compare_exchange_weak(&shared->threads, &count, threads))
        continue;
    atomic_store_explicit(&call->head, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&call->is_open, true, memory_order_release);
}

void sink_call_close(const struct sink *sink, struct ring_call *call)
{
    if (call && is_active(&sink->buffer))
        atomic_store_explicit(&call->is_open, false, memory_order_release);
}

/* ---- The sink -------------------------------------------------------------------------------- */

/* Makes the name of the file, which contains the rank so that ranks do not share a file. The name
 * is made absolute because the program may change its working directory before the first call. */
static void name_output_file(struct sink *sink, const char *pattern, int rank)
{
    char *folder = getcwd(NULL, 0);
    struct tool_output_names names = {.pattern = pattern,
                                      .tool_id = sink->tool_id,
                                      .rank = rank < 0 ? 0 : rank,
                                      .is_of_process = rank >= 0,
                                      .folder = folder,
                                      .is_absolute = true};
    bool good = tool_output_make(&sink->output, &names);
    sink->is_of_child = names.is_of_process && tool_run_is_child() && !tool_world_is_open() &&
                        !sink->output.is_special;
    names.has_no_rank = true;
    if (!good || (sink->is_of_child && !tool_output_make(&sink->child_output, &names)))
        qmpi_memory_exhausted();
    free(folder);
}

static struct tool_output *output_of(struct sink *sink)
{
    return sink->is_of_child ? &sink->child_output : &sink->output;
}

void sink_make(struct sink *sink, int tool_id, const char *pattern, int rank)
{
    sink->tool_id = tool_id;
    if (pattern)
        name_output_file(sink, pattern, rank);
    sink->path = pattern ? tool_output_path(output_of(sink)) : NULL;
    sink->writer = sink->path ? tool_companion_file("qmpi-helper") : NULL;
}

bool sink_is_stderr(const struct sink *sink)
{
    return !sink->path || (atomic_load(&sink->state) == OPEN && !sink->has_file);
}

/* Returns whether lines may wait in a buffer. On a terminal or in a pipe, they are expected at
 * once. */
static bool may_wait(const struct sink *sink)
{
    const mode_t type = sink->file.type;
    return type == S_IFREG || (type == S_IFCHR && !isatty(sink->file.descriptor));
}

/* Reports the first line that is lost. If `may_print` is false, the caller may be a signal handler,
 * where no memory may be allocated. */
static void report_lost_line(struct sink *sink, int problem, bool may_print)
{
    static const char before[] = "qmpi: log: lines are missing at the end of ", after[] = "\n";
    if (atomic_exchange(&sink->has_failed, true))
        return;
    if (may_print) {
        qmpi_printf("log (layer %d): cannot write %s: %s; lines are missing at its end\n"
                    "  hint: use output=FILE to name a file where there is more room",
                    sink->tool_id, sink->path, strerror(problem));
        return;
    }
    qmpi_output_standard_write(STDERR_FILENO, before, sizeof before - 1);
    qmpi_output_standard_write(STDERR_FILENO, sink->path, strlen(sink->path));
    qmpi_output_standard_write(STDERR_FILENO, after, sizeof after - 1);
}

/* A line, and whether it was written when the sink was opened for it. */
struct first_line {
    const char *bytes;
    size_t length;
    bool is_written;
};

static void write_first(struct sink *sink, struct first_line *line, bool may_print)
{
    const int problem = qmpi_output_write(&sink->file, line->bytes, line->length);
    line->is_written = true;
    if (problem)
        report_lost_line(sink, problem, may_print);
}

/* The first line is written before the writer is started, because this takes time, in which the
 * process may be killed. */
static void open_sink_file(struct sink *sink, struct first_line *line, bool may_print)
{
    if (sink->path) {
        output_of(sink)->is_early = !tool_world_is_open();
        sink->path = tool_output_claim(output_of(sink), true);
    }
    const int flags = O_CREAT | O_TRUNC | O_APPEND;
    const int problem = sink->path ? qmpi_output_open(&sink->file, sink->path, flags, 0666) : 0;
    char *const arguments[] = {sink->writer, "write-log", (char *)(uintptr_t)sink->path, NULL};
    sink->has_file = sink->path && !problem;
    if (problem && may_print)
        qmpi_printf("log (layer %d): cannot write %s: %s\n  writing its lines to stderr instead\n"
                    "  hint: use output=FILE to name a file that can be written",
                    sink->tool_id, sink->path, strerror(problem));
    if (sink->has_file && may_print)
        tool_output_report(output_of(sink), "log");
    if (sink->has_file && line)
        write_first(sink, line, may_print);
    if (sink->has_file && may_print && sink->writer && may_wait(sink) &&
        !atomic_load(&sink->has_failed))
        buffer_start(&sink->buffer, arguments, &sink->file);
}

/* Opens the sink if it is not open, and then writes the line, if there is one and a file. If the
 * sink is being opened already, waits until it is open or, if `may_print` is false, returns false:
 * the caller may be a signal handler whose thread holds a lock that the opening thread needs, such
 * as that of malloc. Signals are blocked in the opening thread, because their handlers may call
 * MPI. A forked child does not wait for a thread of its parent. */
static bool open_once(struct sink *sink, struct first_line *line, bool may_print)
{
    int state = atomic_load_explicit(&sink->state, memory_order_acquire);
    if (state == OPEN)
        return true;
    const int process = getpid();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (state != process && atomic_compare_exchange_strong(&sink->state, &state, process)) {
        open_sink_file(sink, line, may_print);
        atomic_store(&sink->state, state = OPEN);
        if (sink->buffer.shared)
            copy_end(sink, sink->buffer.shared); /* sink_set_phase does this only if it is open. */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (state != OPEN && may_print) {
        sched_yield();
        state = atomic_load(&sink->state);
    }
    return state == OPEN;
}

/* Renames the open file of a child. */
static void move_sink_file(struct sink *sink)
{
    const char *path = tool_output_claim(&sink->output, true);
    if (!path || rename(sink->path, path)) {
        qmpi_printf("log (layer %d): cannot move %s to %s: %s; it stays there", sink->tool_id,
                    sink->path, path ? path : "the file of the rank", strerror(errno));
        return;
    }
    sink->path = path;
    qmpi_output_set_path(&sink->file, path);
    tool_output_report(&sink->output, "log");
}

void sink_begin(struct sink *sink)
{
    const int process = getpid();
    int state = CLOSED;
    sigset_t all, before;
    if (!sink->is_of_child)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* as in open_once */
    if (atomic_compare_exchange_strong(&sink->state, &state, process)) {
        sink->is_of_child = false;
        sink->path = tool_output_path(&sink->output);
        atomic_store(&sink->state, CLOSED);
    } else if (open_once(sink, NULL, true)) {
        sink->is_of_child = false;
        if (sink->has_file)
            move_sink_file(sink);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void check_buffer(struct sink *sink, bool may_print)
{
    const int problem = buffer_error(&sink->buffer);
    if (__builtin_expect(problem != 0, 0))
        report_lost_line(sink, problem, may_print);
}

/* Writes a line at once. No line is written after a line that was lost, and the buffer behaves in
 * the same way. */
static void write_now(struct sink *sink, const char *bytes, size_t length, bool may_print)
{
    if (!sink->has_file) {
        qmpi_output_standard_write(STDERR_FILENO, bytes, length);
        return;
    }
    buffer_flush(&sink->buffer);
    check_buffer(sink, may_print);
    if (atomic_load(&sink->has_failed))
        return;
    const int problem = qmpi_output_write(&sink->file, bytes, length);
    if (problem)
        report_lost_line(sink, problem, may_print);
}

struct ring_call *sink_call_find(struct sink *sink, int number, bool opens)
{
    if (number >= RING_CALLS || (opens && sink->path && !open_once(sink, NULL, true)) ||
        atomic_load_explicit(&sink->state, memory_order_acquire) != OPEN ||
        !is_active(&sink->buffer))
        return NULL;
    return &sink->buffer.shared->call[number];
}

void sink_add(struct sink *sink, int ring, struct ring_call *call, const char *bytes, size_t length)
{
    struct first_line line = {bytes, length, false};
    if (!open_once(sink, &line, true) || line.is_written)
        return;
    if (buffer_add(&sink->buffer, ring, call, bytes, length))
        check_buffer(sink, true);
    else
        write_now(sink, bytes, length, true);
}

void sink_write(struct sink *sink, const char *bytes, size_t length, bool may_print)
{
    struct first_line line = {bytes, length, false};
    if (open_once(sink, &line, may_print) && !line.is_written)
        write_now(sink, bytes, length, may_print);
}

void sink_flush(struct sink *sink)
{
    if (atomic_load(&sink->state) != OPEN || !sink->has_file)
        return;
    buffer_flush(&sink->buffer);
    check_buffer(sink, true);
}
