/* SPDX-License-Identifier: MIT */
/* See processor.h. */
#define _GNU_SOURCE
#include "tools/profile/record/processor.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct processor_usage before;
static bool has_begun;
static uint64_t queued_of_ended; /* nanoseconds for which ended threads waited for a processor */

/* Reads for how many nanoseconds a thread has waited for a processor: the second number of the
 * file. Returns 0 if the kernel does not count it, or if the thread has ended. */
static uint64_t read_queued(int directory, const char *path)
{
    char text[128];
    uint64_t nanoseconds = 0;
    const int descriptor = openat(directory, path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = descriptor < 0 ? -1 : read(descriptor, text, sizeof text - 1);
    if (descriptor >= 0)
        close(descriptor);
    text[length > 0 ? length : 0] = '\0';
    const char *at = strchr(text, ' ');
    for (at = at ? at + 1 : text; *at >= '0' && *at <= '9'; at++)
        nanoseconds = 10 * nanoseconds + (uint64_t)(*at - '0');
    return nanoseconds;
}

/* An entry of a directory, as the system call getdents64 returns it. opendir may not be called in a
 * signal handler. */
struct folder_entry {
    uint64_t inode;
    int64_t next;
    uint16_t length;
    uint8_t type;
    char name[];
};

static uint64_t read_queued_of_entry(int folder, const struct folder_entry *entry)
{
    enum { NAME_MOST = 16 };
    static const char file[] = "/schedstat";
    char path[NAME_MOST + sizeof file];
    if (*entry->name < '0' || *entry->name > '9' || strlen(entry->name) > NAME_MOST)
        return 0;
    memcpy(stpcpy(path, entry->name), file, sizeof file);
    return read_queued(folder, path);
}

/* Returns the sum of the nanoseconds for which all existing threads have waited for a processor. */
static uint64_t sum_queued(void)
{
    _Alignas(struct folder_entry) char entries[1024]; /* the stack of a signal may be small */
    uint64_t sum = 0;
    long length = 0;
    const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return read_queued(AT_FDCWD, "/proc/self/schedstat");
    while ((length = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        for (long at = 0; at < length;) {
            const struct folder_entry *entry = (const void *)(entries + at);
            sum += read_queued_of_entry(folder, entry);
            at += entry->length;
        }
    }
    close(folder);
    return sum;
}

void processor_end_thread(void)
{
    const uint64_t queued = read_queued(AT_FDCWD, "/proc/thread-self/schedstat");
    __atomic_fetch_add(&queued_of_ended, queued, __ATOMIC_RELAXED);
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

static void read_usage(struct processor_usage *usage)
{
    struct rusage all;
    struct timespec now;
    const uint64_t ended = __atomic_load_n(&queued_of_ended, __ATOMIC_RELAXED);
    *usage = (struct processor_usage){.queued = 1e-9 * (double)(ended + sum_queued())};
    if (!clock_gettime(CLOCK_MONOTONIC, &now))
        usage->elapsed = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (getrusage(RUSAGE_SELF, &all))
        return;
    usage->time = seconds_of(&all.ru_utime) + seconds_of(&all.ru_stime);
    usage->preemptions = (uint64_t)all.ru_nivcsw;
}

void processor_begin(void)
{
    if (!has_begun)
        read_usage(&before);
    has_begun = true;
}

/* While several threads are ready to run, their times add up to more than the elapsed time. The
 * waiting time is then reduced in proportion. */
static double limit_queued(const struct processor_usage *usage)
{
    const double ready = usage->time + usage->queued;
    return ready > usage->elapsed ? usage->queued * usage->elapsed / ready : usage->queued;
}

void processor_read(struct processor_usage *usage)
{
    read_usage(usage);
    usage->time -= before.time;
    usage->preemptions -= before.preemptions;
    usage->queued -= before.queued;
    usage->elapsed -= before.elapsed;
    usage->queued = usage->queued > 0 ? limit_queued(usage) : 0;
}

/* ---- Allowed processors ---------------------------------------------------------------------- */

static char *append_number(char *at, int number)
{
    char digits[16], *first = digits + sizeof digits - 1;
    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    return stpcpy(at, first);
}

void processor_list(char *text)
{
    enum { ROOM = 32 }; /* the length of one range and of the mark of a cut list */
    cpu_set_t set;
    char *at = text;
    *text = '\0';
    if (sched_getaffinity(getpid(), sizeof set, &set))
        return;
    for (int first = 0; first < CPU_SETSIZE; first++) {
        if (!CPU_ISSET(first, &set))
            continue;
        if (at - text > PROCESSOR_LIST_MAX - ROOM) {
            strcpy(at, ",...");
            return;
        }
        int last = first;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        if (at != text)
            at = stpcpy(at, ",");
        at = append_number(at, first);
        if (last > first)
            at = append_number(stpcpy(at, "-"), last);
        first = last;
    }
}
