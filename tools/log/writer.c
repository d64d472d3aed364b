/* SPDX-License-Identifier: MIT */
/*
 * The tool log starts this program to write the lines of a process; see sink.h. The program writes
 * the lines that are in the rings (ring.h) to the file, and then pauses for at most 100 ms or, if
 * it has found no lines, sleeps until a line is added. When the process is gone, it writes the
 * remaining lines, and what the process could not write about its end, and ends.
 *
 *     qmpi-helper write-log FILE
 *
 * Descriptor 0 becomes ready when the process is gone, descriptor 1 is the shared memory, and
 * descriptor 2 is the file. The argument FILE only shows the name of the file in lists of
 * processes. The program shares nothing else with the process: it has an empty environment, a
 * session of its own and another working directory.
 */
#define _GNU_SOURCE
#include "tools/log/writer.h"

#include "tools/log/ring.h"
#include "tools/log/text.h"
#include "util/util.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PROCESS, MEMORY, OUTPUT, OTHERS };
enum { PAUSE_MS = 100, SLEEP_MS = 1000, STACK_SIZE = 64 * 1024, PATIENCE = 60 /* s */ };

static struct ring_shared *shared;
static atomic_bool is_over; /* The process is gone. */

/* Separates this program from the observed process. Signals that are meant for the process are
 * blocked, because this program ends by itself soon after the process. */
static void detach(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    qmpi_spawn_close_from(OTHERS);
    (void)!chdir("/");
}

static bool map_memory(void)
{
    struct stat status;
    if (fstat(MEMORY, &status) || status.st_size != sizeof *shared)
        return false;
    void *pages = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, MEMORY, 0);
    shared = pages;
    return pages != MAP_FAILED;
}

/* Announces the writer to the process. From here on, the kernel marks shared->writer, a robust
 * futex, when this program ends for any reason. */
static bool announce(void)
{
    static struct robust_list entry;
    static struct robust_list_head list;
    entry.next = &list.list;
    list.list.next = &entry;
    list.futex_offset = (char *)&shared->writer - (char *)&entry;
    if (syscall(SYS_set_robust_list, &list, sizeof list))
        return false;
    atomic_store(&shared->writer, (unsigned)syscall(SYS_gettid));
    ring_wake(&shared->writer);
    return true;
}

/* Waits until the process is gone, and makes write_lines end. Limits the time for this, in case the
 * process has overwritten the shared memory or a file system does not respond. */
static void *wait_for_end(void *data)
{
    struct pollfd gone = {.fd = PROCESS, .events = POLLIN};
    while (poll(&gone, 1, -1) < 0 && errno == EINTR)
        continue;
    atomic_store(&is_over, true);
    atomic_store(&shared->state, WRITER_WORKS);
    ring_wake(&shared->state);
    sleep(PATIENCE);
    _exit(1);
    return data;
}

static bool watch_process(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    return !pthread_create(&thread, &attributes, wait_for_end, NULL);
}

/* Waits for work. A thread that adds a line or asks for a flush reads the state afterwards, and
 * this function sets the state before it looks for lines and requests. Therefore, a thread whose
 * line or request is missed here sees the new state and wakes this program. */
static void wait_for_work(bool paused, unsigned asked)
{
    const unsigned state = paused ? WRITER_PAUSES : WRITER_SLEEPS;
    const uint64_t enough = paused ? RING_SIZE / 2 : 1;
    atomic_store(&shared->state, state);
    if (!atomic_load(&is_over) && atomic_load(&shared->asked) == asked && !ring_has(shared, enough))
        ring_wait(&shared->state, state, paused ? PAUSE_MS : SLEEP_MS);
    atomic_store(&shared->state, WRITER_WORKS);
}

static void write_lines(void)
{
    for (;;) {
        const bool last = atomic_load(&is_over);
        const unsigned asked = atomic_load(&shared->asked);
        const bool any = ring_drain(shared, OUTPUT);
        if (atomic_exchange(&shared->done, asked) != asked)
            ring_wake(&shared->done);
        if (last)
            return;
        wait_for_work(any, asked);
    }
}

/* ---- The end of a process that was killed ---------------------------------------------------- */

static uint64_t find_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - shared->start;
    return time > 0 ? (uint64_t)time : 0;
}

static void begin_line(struct text *text, const struct prefix *prefix)
{
    struct prefix mine = *prefix;
    if (atomic_load(&shared->threads) < 2)
        mine.thread = 0;
    text->length = 0;
    prefix_add(text, &mine);
}

static void add_part(struct text *text, const char *bytes, size_t length, size_t most)
{
    text_add(text, bytes, length < most ? length : most);
}

/* Returns whether a call is in progress, and its line is in no ring. */
static bool is_in_progress(const struct ring_call *call)
{
    const unsigned ring = (unsigned)atomic_load(&call->ring);
    const uint64_t head = atomic_load(&call->head);
    return atomic_load(&call->is_open) && (head == UINT64_MAX || ring >= RING_COUNT ||
                                           atomic_load(&shared->ring[ring].head) < head);
}

static void write_unfinished(struct text *text, const struct ring_call *call, uint64_t now)
{
    begin_line(text, &call->prefix);
    prefix_indent(text, call->depth);
    add_part(text, call->text, call->length, sizeof call->text);
    text_string(text, " <unfinished after ");
    text_duration(text, now > call->prefix.when ? now - call->prefix.when : 0);
    text_char(text, '>');
    if (call->caller_length) {
        text_string(text, " at ");
        add_part(text, call->caller, call->caller_length, sizeof call->caller);
    }
    text_char(text, '\n');
    ring_write(shared, OUTPUT, text->data, text->length);
}

/* Writes the lines that the process would have written at its end (unfinished.c) if it had noticed
 * its end. */
static void write_end(void)
{
    char bytes[RING_CALL_TEXT + RING_CALL_CALLER + 256];
    struct text text = {.data = bytes, .size = sizeof bytes, .is_fixed = true};
    const uint64_t now = find_now();
    const int phase = atomic_load(&shared->phase);
    struct prefix last = shared->prefix;
    bool any = phase == PHASE_MPI;
    if (phase == PHASE_OVER)
        return;
    for (int i = 0; i < RING_CALLS; i++) {
        if (is_in_progress(&shared->call[i])) {
            write_unfinished(&text, &shared->call[i], now);
            any = true;
        }
    }
    if (!any)
        return;
    last.when = now;
    begin_line(&text, &last);
    text_string(&text, "+++ SIGKILL, _exit or exec +++\n");
    ring_write(shared, OUTPUT, text.data, text.length);
}

int log_writer_run(void)
{
    detach();
    if (!map_memory() || !watch_process() || !announce())
        return 1;
    write_lines();
    write_end();
    return 0;
}
