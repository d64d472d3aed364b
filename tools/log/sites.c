/* SPDX-License-Identifier: MIT */
/* See sites.h. */
#define _GNU_SOURCE
#include "sites.h"

#include "text.h"
#include "util/util.h"

#include <qmpi/observer.h>

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A lock that the reading of debug information needs may be held by who waits for it: one that
 * calls from a library's constructor, or whose handler interrupted the dynamic loader. */
enum { PATIENCE = 2 /* seconds */, STACK = 1024 * 1024 };
enum { NEW, ASKED, ABANDONED, KNOWN }; /* it is waited for while it is ASKED */

struct site {
    const void *caller;
    atomic_uint state;
    const char *text; /* once it is known */
    struct site *next, *next_asked;
    char plain[120]; /* "app+0x1139" */
};

enum { BUCKETS = 1024 };
static _Atomic(struct site *) buckets[BUCKETS]; /* only added to */
static _Atomic(struct site *) asked;            /* the last one first */
static sem_t work;                              /* as often as there is one more */
static pid_t resolver;                          /* the process that has the thread */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- The thread ------------------------------------------------------------------------------ */

static char *make_text(const void *caller)
{
    char *text = NULL;
    const QMPIX_Address *site;
    if (QMPIX_Address_describe(caller, &site) || !site->frame_count || !site->frames->function)
        return NULL;
    const QMPIX_Frame *frame = site->frames;
    const int length = frame->file ? asprintf(&text, "%s (%s:%d)", frame->function,
                                              base_name(frame->file), frame->line)
                                   : asprintf(&text, "%s (%s+0x%zx)", frame->function,
                                              base_name(site->library), site->offset);
    return length < 0 ? NULL : text;
}

static void futex(atomic_uint *word, int operation, unsigned value, const struct timespec *time)
{
    syscall(SYS_futex, word, operation, value, time, NULL, 0);
}

static void resolve(struct site *site)
{
    const char *text = make_text(site->caller);
    site->text = text ? text : site->plain;
    atomic_store(&site->state, KNOWN);
    futex(&site->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
}

static void *run(void *data)
{
    for (;;) {
        while (sem_wait(&work))
            continue;
        for (struct site *site = atomic_exchange(&asked, NULL), *next; site; site = next) {
            next = site->next_asked;
            resolve(site);
        }
    }
    return data;
}

void sites_start(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    const QMPIX_Address *nowhere;
    if (resolver)
        return;
    /* Loads what describes addresses: later, a thread in a constructor may have the loader's lock.
     */
    QMPIX_Library_describe("", 0, &nowhere);
    sem_init(&work, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK);
    sigfillset(&all); /* signals are the program's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, &attributes, run, NULL))
        resolver = getpid();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static void wait_for(struct site *site)
{
    struct timespec now, until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE;
    while (atomic_load(&site->state) == ASKED) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        struct timespec left = {until.tv_sec - now.tv_sec, until.tv_nsec - now.tv_nsec};
        if (left.tv_nsec < 0) {
            left.tv_sec--;
            left.tv_nsec += 1000000000;
        }
        unsigned state = ASKED;
        if (left.tv_sec < 0)
            atomic_compare_exchange_strong(&site->state, &state, ABANDONED);
        else
            futex(&site->state, FUTEX_WAIT_PRIVATE, ASKED, &left);
    }
}

static void describe(struct site *site)
{
    struct text text = {.data = site->plain, .size = sizeof site->plain - 1, .is_fixed = true};
    const char *library = "?";
    size_t offset = (size_t)(uintptr_t)site->caller;
    QMPIX_Address_find(site->caller, &library, &offset);
    const char *name = base_name(library);
    text_add(&text, name, strnlen(name, 96));
    text_char(&text, '+');
    text_hex(&text, offset, 0);
}

static struct site *find(const void *caller, struct site *site)
{
    while (site && site->caller != caller)
        site = site->next;
    return site;
}

static struct site *add(const void *caller, _Atomic(struct site *) *bucket)
{
    struct site *site = qmpi_arena_take(sizeof *site), *known;
    if (!site)
        return NULL;
    site->caller = caller;
    describe(site);
    site->next = atomic_load(bucket);
    do {
        if ((known = find(caller, site->next)))
            return known; /* somebody was faster */
    } while (!atomic_compare_exchange_weak(bucket, &site->next, site));
    site->next_asked = atomic_load(&asked);
    while (!atomic_compare_exchange_weak(&asked, &site->next_asked, site))
        continue;
    sem_post(&work);
    unsigned state = NEW; /* unless it is KNOWN by now */
    atomic_compare_exchange_strong(&site->state, &state, ASKED);
    return site;
}

const char *sites_find(const void *caller)
{
    _Atomic(struct site *) *bucket =
        &buckets[((uintptr_t)caller ^ (uintptr_t)caller >> 10) % BUCKETS];
    if (!caller)
        return "?";
    struct site *site = find(caller, atomic_load_explicit(bucket, memory_order_acquire));
    if (!site && !(site = add(caller, bucket)))
        return "?";
    if (atomic_load(&site->state) == ASKED && resolver == getpid())
        wait_for(site);
    return atomic_load(&site->state) == KNOWN ? site->text : site->plain;
}
