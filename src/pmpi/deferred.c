/* SPDX-License-Identifier: MIT */
/* See deferred.h. */
#define _GNU_SOURCE
#include "pmpi/deferred.h"

#include "pmpi/next.h"
#include "pmpi/thunk.h"
#include "util/lock.h"
#include "util/message.h"

#include <sys/mman.h>

struct qmpi_late {
    qmpi_function *slots[QMPI_FUNCTION_COUNT];
    unsigned char *stubs;
};

QMPI_LOCK(lock);

static struct qmpi_late *make(void)
{
    const size_t size = (size_t)QMPI_FUNCTION_COUNT * QMPI_STUB_SIZE;
    unsigned char *stubs =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stubs == MAP_FAILED)
        return NULL;
    struct qmpi_late *late = qmpi_allocate(1, sizeof *late);
    late->stubs = stubs;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        late->slots[number] = qmpi_pmpi_slots[number];
        qmpi_arch_write_jump(stubs + (size_t)number * QMPI_STUB_SIZE, &late->slots[number]);
    }
    if (mprotect(stubs, size, PROT_READ | PROT_EXEC) != 0) {
        munmap(stubs, size);
        return NULL; /* `late` stays: this happens once */
    }
    return late;
}

void *qmpi_late_find(struct qmpi_resident *resident, int number)
{
    pthread_mutex_lock(&lock);
    if (!resident->late)
        resident->late = make();
    const struct qmpi_late *late = resident->late;
    pthread_mutex_unlock(&lock);
    return late && late->slots[number] ? late->stubs + (size_t)number * QMPI_STUB_SIZE : NULL;
}

void qmpi_late_settle(struct qmpi_resident *resident)
{
    for (int number = 0; resident->late && number < QMPI_FUNCTION_COUNT; number++) {
        qmpi_function *below = qmpi_below(resident->layer, number);
        if (below)
            __atomic_store_n(&resident->late->slots[number], below, __ATOMIC_RELEASE);
    }
}
