/* SPDX-License-Identifier: MIT */
/* See processor.h. */
#define _GNU_SOURCE
#include "tools/profile/record/processor.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct processor_usage before;
static bool has_begun;

/* Returns the time for which the main thread has waited for a processor: the second number of the
 * file. Returns 0 if the kernel does not count it. */
static double read_queued(void)
{
    char text[128];
    uint64_t nanoseconds = 0;
    const int descriptor = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    const ssize_t length = descriptor < 0 ? -1 : read(descriptor, text, sizeof text - 1);
    if (descriptor >= 0)
        close(descriptor);
    text[length > 0 ? length : 0] = '\0';
    const char *at = strchr(text, ' ');
    if (!at)
        return 0;
    for (at++; *at >= '0' && *at <= '9'; at++)
        nanoseconds = 10 * nanoseconds + (uint64_t)(*at - '0');
    return 1e-9 * (double)nanoseconds;
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

static void read_usage(struct processor_usage *usage)
{
    struct rusage all;
    struct timespec now;
    *usage = (struct processor_usage){.queued = read_queued()};
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

void processor_read(struct processor_usage *usage)
{
    read_usage(usage);
    usage->time -= before.time;
    usage->preemptions -= before.preemptions;
    usage->queued -= before.queued;
    usage->elapsed -= before.elapsed;
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
    enum { ROOM = 32 }; /* of one range and the mark of a long list */
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
