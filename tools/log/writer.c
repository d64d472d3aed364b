/* SPDX-License-Identifier: MIT */
/*
 * The program qmpi-log-writer, which log starts to write the lines of a process: see buffer.h. It
 * writes what is there, and pauses 100 ms; when nothing was there, it sleeps until a line is added.
 * When the process is gone, it writes what is left and ends.
 *
 *     qmpi-log-writer FILE
 *
 * Descriptor 0 becomes ready when the process is gone; 1 is the memory that both share, and 2 the
 * file, which FILE only names for who lists processes. It has nothing else of the program's: no
 * environment, neither its session nor its directory.
 */
#define _GNU_SOURCE
#include "ring.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROCESS, MEMORY, OUTPUT, OTHERS };
enum { PAUSE_MS = 100, SLEEP_MS = 1000, STACK_SIZE = 64 * 1024, PATIENCE = 60 /* s */ };

static struct shared *shared;
static atomic_bool is_over; /* the process is gone */

/* The program's signals are not meant for it. It ends by itself soon after the program. */
static void detach(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    closefrom(OTHERS);
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

/* From here on the kernel marks the word when this program ends, however it does. */
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

/* A process that wrote over the memory, or a file system that does not answer, must not leave this
 * program behind for ever. */
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

/* Who adds a line or asks looks at the state afterwards; here it is set first. So nobody who is not
 * seen here finds an old state. */
static void rest(bool paused, unsigned asked)
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
        rest(any, asked);
    }
}

int main(void)
{
    detach();
    if (!map_memory() || !watch_process() || !announce())
        return 1;
    write_lines();
    return 0;
}
