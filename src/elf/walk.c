/* SPDX-License-Identifier: MIT */
/*
 * See walk.h. Nobody waits for ever: a walk may itself wait for a thread that forks, if that has
 * the loader's lock. After the time given here, a fork or a walk goes on as without the other.
 */
#define _GNU_SOURCE
#include "elf/walk.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { PATIENCE = 1000 /* milliseconds */ };

static atomic_int walks, forks; /* threads that are in one */
static _Thread_local int depth; /* of nested walks */

static void wait_until(atomic_int *threads, int remaining)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; atomic_load(threads) > remaining && i < PATIENCE; i++)
        nanosleep(&pause, NULL);
}

static void begin(void)
{
    if (depth++ > 0)
        return;
    atomic_fetch_add(&walks, 1);
    if (atomic_load(&forks) > 0) { /* it may not have seen this walk */
        atomic_fetch_sub(&walks, 1);
        wait_until(&forks, 0);
        atomic_fetch_add(&walks, 1);
    }
}

static void end(void)
{
    if (--depth == 0)
        atomic_fetch_sub(&walks, 1);
}

int qmpi_elf_walk(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data)
{
    begin();
    const int result = dl_iterate_phdr(visit, data);
    end();
    return result;
}

static void before_fork(void)
{
    atomic_fetch_add(&forks, 1);
    wait_until(&walks, depth > 0);
}

static void after_fork(void)
{
    atomic_fetch_sub(&forks, 1);
}

static void after_fork_in_child(void)
{
    atomic_store(&forks, 0);
    atomic_store(&walks, depth > 0);
}

void qmpi_elf_walk_start(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
