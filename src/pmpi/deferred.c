/* SPDX-License-Identifier: MIT */
/* See deferred.h. */
#define _GNU_SOURCE
#include "pmpi/deferred.h"

#include "pmpi/next.h"
#include "pmpi/thunk.h"
#include "util/util.h"

#include <sys/mman.h>

struct qmpi_deferred {
    qmpi_function *slots[QMPI_FUNCTION_COUNT];
    unsigned char *stubs;
};

QMPI_LOCK(lock);

static struct qmpi_deferred *make(void)
{
    const size_t size = (size_t)QMPI_FUNCTION_COUNT * QMPI_STUB_SIZE;
    unsigned char *stubs =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stubs == MAP_FAILED)
        return NULL;
    struct qmpi_deferred *deferred = qmpi_allocate(1, sizeof *deferred);
    deferred->stubs = stubs;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        deferred->slots[number] = qmpi_pmpi_slots[number];
        qmpi_arch_write_jump(stubs + (size_t)number * QMPI_STUB_SIZE, &deferred->slots[number]);
    }
    if (mprotect(stubs, size, PROT_READ | PROT_EXEC) != 0) {
        munmap(stubs, size);
        return NULL; /* `late` stays: this happens once */
    }
    return deferred;
}

void *qmpi_deferred_find(struct qmpi_preloaded_tool *preloaded, int number)
{
    pthread_mutex_lock(&lock);
    if (!preloaded->deferred)
        preloaded->deferred = make();
    const struct qmpi_deferred *deferred = preloaded->deferred;
    pthread_mutex_unlock(&lock);
    return deferred && deferred->slots[number] ? deferred->stubs + (size_t)number * QMPI_STUB_SIZE
                                               : NULL;
}

void qmpi_deferred_resolve(struct qmpi_preloaded_tool *preloaded)
{
    for (int number = 0; preloaded->deferred && number < QMPI_FUNCTION_COUNT; number++) {
        qmpi_function *next_function = qmpi_thunk_of(preloaded->layer, number);
        if (next_function)
            __atomic_store_n(&preloaded->deferred->slots[number], next_function, __ATOMIC_RELEASE);
    }
}
