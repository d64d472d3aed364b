/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the ranks of tests, and linked into programs whose ranks wait long for each other.
 * Waiting ranks use a processor as long as they wait. With this library, they sleep between two
 * polls once they have waited for about a millisecond. The library interposes two functions for
 * this: ucp_worker_progress, by which MPICH polls UCX, and sched_yield, which Open MPI and newer
 * releases of MPICH call between two polls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { POLLS = 10000 }; /* number of polls in about a millisecond */

static void sleep_briefly(void)
{
    nanosleep(&(struct timespec){0, 50000}, NULL);
}

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    static _Thread_local unsigned idle;
    if (!next) {
        void *found = dlsym(RTLD_NEXT, "ucp_worker_progress");
        if (!found) /* a program has opened its MPI library with RTLD_LOCAL */
            found = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
        memcpy(&next, &found, sizeof next);
    }
    const unsigned done = next(worker);
    if (done)
        idle = 0;
    else if (++idle > POLLS)
        sleep_briefly();
    return done;
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

__attribute__((visibility("default"))) int sched_yield(void)
{
    enum { BETWEEN = 100000, AWAKE = 1000000 };    /* nanoseconds */
    static _Thread_local uint64_t first, previous; /* the times of the first and previous call */
    const uint64_t now = nanoseconds();
    if (now - previous > BETWEEN) /* the thread has done something else meanwhile */
        first = now;
    if (now - first > AWAKE)
        sleep_briefly();
    else
        syscall(SYS_sched_yield);
    previous = nanoseconds();
    return 0;
}
