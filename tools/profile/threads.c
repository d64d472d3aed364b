/* SPDX-License-Identifier: MIT */
/* See threads.h. */
#define _GNU_SOURCE
#include "threads.h"

#include "message.h"

#include <pthread.h>
#include <stdlib.h>

_Thread_local struct thread_row *threads_row;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static struct thread_row *free_rows;
static struct thread *all[256]; /* [tool_id] */

/* Those that the thread that ends was in: the next one is in none of them. */
static void forget_calls(struct thread *thread)
{
    thread->outermost = thread->waited = NULL;
    thread->leaving_count = 0;
    thread->stack = thread->stack_end = 0;
}

static void leave(void *data)
{
    struct thread_row *row = data;
    threads_row = NULL;
    for (size_t i = 0; i < sizeof row->by_layer / sizeof *row->by_layer; i++) {
        if (row->by_layer[i])
            forget_calls(row->by_layer[i]);
    }
    pthread_mutex_lock(&lock);
    row->next_free = free_rows;
    free_rows = row;
    pthread_mutex_unlock(&lock);
}

static void make_key(void)
{
    pthread_key_create(&key, leave);
}

static struct thread_row *join(void)
{
    pthread_once(&once, make_key);
    struct thread_row *row = free_rows;
    if (row)
        free_rows = row->next_free;
    else
        row = calloc(1, sizeof *row);
    if (row) {
        pthread_setspecific(key, row);
        threads_row = row;
    }
    return row;
}

static struct thread *make_thread(int depth)
{
    const size_t frames = (size_t)depth;
    struct thread *thread = calloc(1, sizeof *thread);
    if (thread && table_make(&thread->functions, 1, sizeof(struct function_row)) &&
        table_make(&thread->cells, 1, sizeof(struct cell_row)) &&
        table_make(&thread->comms, 1, sizeof(struct numbered_row)) &&
        table_make(&thread->files, 1, sizeof(struct numbered_row)) &&
        table_make(&thread->nodes, 1, sizeof(struct node_row)) &&
        table_make(&thread->sites, 1 + frames, SITE_SIZE(frames)))
        return thread;
    if (thread) {
        table_free(&thread->functions);
        table_free(&thread->cells);
        table_free(&thread->comms);
        table_free(&thread->files);
        table_free(&thread->nodes);
    }
    free(thread);
    return NULL;
}

struct thread *threads_add(int tool_id, int depth)
{
    pthread_mutex_lock(&lock);
    struct thread_row *row = threads_row ? threads_row : join();
    struct thread *thread = row ? row->by_layer[tool_id] : NULL;
    if (row && !thread && (thread = make_thread(depth))) {
        thread->next = all[tool_id];
        __atomic_store_n(&all[tool_id], thread, __ATOMIC_RELEASE);
        row->by_layer[tool_id] = thread;
    }
    pthread_mutex_unlock(&lock);
    if (!thread)
        threads_out_of_memory(tool_id);
    return thread;
}

static void find_stack(struct thread *thread)
{
    pthread_attr_t attributes;
    void *stack;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (!pthread_attr_getstack(&attributes, &stack, &size)) {
        thread->stack = (uintptr_t)stack;
        thread->stack_end = (uintptr_t)stack + size;
    }
    pthread_attr_destroy(&attributes);
}

bool threads_have_on_stack(struct thread *thread, const void *one, const void *other)
{
    if (!thread->stack)
        find_stack(thread);
    return (uintptr_t)one - thread->stack < thread->stack_end - thread->stack &&
           (uintptr_t)other - thread->stack < thread->stack_end - thread->stack;
}

void threads_out_of_memory(int tool_id)
{
    static int said;
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        qmpi_sayf("profile (layer %d): out of memory: some calls are missing from the profile",
                  tool_id);
}

struct thread *threads_first(int tool_id)
{
    return __atomic_load_n(&all[tool_id], __ATOMIC_ACQUIRE);
}

void stats_add(struct stats *sum, const struct stats *more)
{
    const uint64_t calls = __atomic_load_n(&more->calls, __ATOMIC_RELAXED);
    const uint64_t shortest = __atomic_load_n(&more->shortest, __ATOMIC_RELAXED);
    const uint64_t longest = __atomic_load_n(&more->longest, __ATOMIC_RELAXED);
    if (calls && (!sum->calls || shortest < sum->shortest))
        sum->shortest = shortest;
    if (longest > sum->longest)
        sum->longest = longest;
    sum->calls += calls;
    sum->time += __atomic_load_n(&more->time, __ATOMIC_RELAXED);
    sum->wait += __atomic_load_n(&more->wait, __ATOMIC_RELAXED);
    sum->sent += __atomic_load_n(&more->sent, __ATOMIC_RELAXED);
    sum->received += __atomic_load_n(&more->received, __ATOMIC_RELAXED);
}
