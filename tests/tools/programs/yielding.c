/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the ranks of tests, and linked into programs whose ranks wait long for each other.
 * The ranks of MPICH use a processor as long as they wait. With this library, they sleep between
 * two polls after they have waited for about a millisecond: the library interposes the function by
 * which MPICH polls UCX. Without UCX, this function is never called, and ranks do not sleep.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <time.h>

enum { POLLS = 10000 }; /* number of polls in about a millisecond */

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
        nanosleep(&(struct timespec){0, 50000}, NULL);
    return done;
}
