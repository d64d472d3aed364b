/* SPDX-License-Identifier: MIT */
/* See visit.h. */
#define _GNU_SOURCE
#include "validator/visit.h"

#include "util/util.h"

#include <pthread.h>
#include <stdlib.h>

/* The visits of a thread. When the thread ends, a new thread uses the structure again. */
struct thread {
    struct visit *top, *unused;
    struct thread *next;
    bool ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *threads;
static pthread_key_t key;
static _Thread_local struct thread *mine;

static void pop_visit(struct thread *thread)
{
    struct visit *visit = thread->top;
    thread->top = visit->outer;
    visit->serial = 0;
    visit->outer = thread->unused;
    thread->unused = visit;
}

static void release_visits(void *data)
{
    struct thread *thread = data;
    pthread_mutex_lock(&lock);
    while (thread->top)
        pop_visit(thread);
    thread->ended = true;
    mine = NULL; /* later destructors of this thread may call MPI */
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void create_key(void)
{
    pthread_key_create(&key, release_visits);
}

/* The caller holds the lock. */
static struct thread *find_thread(void)
{
    if (mine)
        return mine;
    struct thread *thread = threads;
    while (thread && !thread->ended)
        thread = thread->next;
    if (!thread) {
        thread = qmpi_allocate(1, sizeof *thread);
        thread->next = threads;
        threads = thread;
    }
    thread->ended = false;
    mine = thread;
    pthread_setspecific(key, thread);
    return thread;
}

struct visit *visit_begin(int tool_id, const QMPIX_Call *call)
{
    static uint64_t last;
    pthread_mutex_lock(&lock);
    struct thread *thread = find_thread();
    struct visit *visit = thread->unused;
    if (visit)
        thread->unused = visit->outer;
    else
        visit = qmpi_allocate(1, sizeof *visit);
    const struct compare_values values = visit->values; /* its memory is used again */
    *visit = (struct visit){.outer = thread->top,
                            .serial = ++last,
                            .frame = (uintptr_t)call,
                            .function = call->function,
                            .context = call->context,
                            .tool_id = tool_id,
                            .values = values};
    compare_save_arguments(&visit->values, call);
    thread->top = visit;
    pthread_mutex_unlock(&lock);
    return visit;
}

const char *visit_name(const struct visit *visit)
{
    return visit->finalizer ? "finalizer" : visit->function->name;
}

void visit_store(const struct visit *visit, QMPIX_Word *word)
{
    word[0].pointer = (void *)(uintptr_t)visit;
    word[1].number = visit->serial;
}

struct visit *visit_of_word(const QMPIX_Word *word)
{
    struct visit *visit = word[0].pointer, *inner;
    if (!visit || !mine)
        return NULL;
    pthread_mutex_lock(&lock);
    for (inner = mine->top; inner && inner != visit;)
        inner = inner->outer;
    if (!inner || visit->serial != word[1].number)
        visit = NULL;
    while (visit && mine->top != visit)
        pop_visit(mine);
    pthread_mutex_unlock(&lock);
    return visit;
}

void visit_end(struct visit *visit)
{
    pthread_mutex_lock(&lock);
    while (mine->top && mine->top != visit)
        pop_visit(mine);
    if (mine->top)
        pop_visit(mine);
    pthread_mutex_unlock(&lock);
}

struct visit *visit_innermost(const QMPIX_Call *call)
{
    pthread_mutex_lock(&lock);
    struct thread *thread = find_thread();
    while (thread->top && thread->top->frame <= (uintptr_t)call)
        pop_visit(thread);
    struct visit *visit = thread->top;
    pthread_mutex_unlock(&lock);
    return visit;
}

const struct visit *visit_current(void)
{
    pthread_mutex_lock(&lock);
    const struct visit *visit = mine ? mine->top : NULL;
    pthread_mutex_unlock(&lock);
    return visit;
}

bool visit_find_elsewhere(int tool_id, const QMPIX_Call *call)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (struct thread *thread = threads; thread && !found; thread = thread->next) {
        struct visit *visit = thread->ended || thread == mine ? NULL : thread->top;
        if (!visit || visit->tool_id != tool_id || visit->below || visit->passed ||
            visit->function != call->function || compare_arguments(&visit->values, call) >= 0)
            continue;
        visit->elsewhere = true;
        visit->passed++;
        found = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
