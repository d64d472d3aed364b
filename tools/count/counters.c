/* SPDX-License-Identifier: MIT */
/* See counters.h. */
#include "counters.h"

#include "message.h"

#include <pthread.h>
#include <stdlib.h>

_Thread_local struct counters_thread *counters_self;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static struct counters_thread *all, *free_list;

static void leave(void *data)
{
    struct counters_thread *thread = data;
    counters_self = NULL;
    pthread_mutex_lock(&lock);
    thread->next_free = free_list;
    free_list = thread;
    pthread_mutex_unlock(&lock);
}

static void make_key(void)
{
    pthread_key_create(&key, leave);
}

static struct counters_thread *join(void)
{
    pthread_once(&once, make_key);
    struct counters_thread *thread = free_list;
    if (thread) {
        free_list = thread->next_free;
    } else {
        thread = calloc(1, sizeof *thread);
        if (!thread)
            return NULL;
        thread->next = all;
        __atomic_store_n(&all, thread, __ATOMIC_RELEASE);
    }
    pthread_setspecific(key, thread);
    counters_self = thread;
    return thread;
}

struct counters_table *counters_add_table(int tool_id)
{
    pthread_mutex_lock(&lock);
    struct counters_thread *thread = counters_self ? counters_self : join();
    struct counters_table *table = thread ? thread->tables[tool_id] : NULL;
    if (thread && !table) {
        table = calloc(1, sizeof *table);
        __atomic_store_n(&thread->tables[tool_id], table, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    static int said;
    if (!table && !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        qmpi_sayf("count: out of memory: calls of a thread are not counted");
    return table;
}

void counters_sum(int tool_id, unsigned long long calls[MPI_LAST_FUNC])
{
    for (int number = 0; number < MPI_LAST_FUNC; number++)
        calls[number] = counters_get(tool_id, number);
}

/* Threads and tables are only ever added, each when it is whole: nobody need be kept out. */
unsigned long long counters_get(int tool_id, int number)
{
    unsigned long long calls = 0;
    const struct counters_thread *thread = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    for (; thread; thread = thread->next) {
        const struct counters_table *table =
            __atomic_load_n(&thread->tables[tool_id], __ATOMIC_ACQUIRE);
        if (table)
            calls += __atomic_load_n(&table->calls[number], __ATOMIC_RELAXED);
    }
    return calls;
}
