/* SPDX-License-Identifier: MIT */
/* See below.h. */
#define _GNU_SOURCE
#include "below.h"

#include "arch.h"
#include "message.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *problem;

/* All of a layer's stubs at once, in pages that are never writable and executable together. */
static unsigned char *make_stubs(struct qmpi_layer *layer)
{
    const QMPI_Context *row = QMPIX_stack.below[layer->tool_id];
    const size_t size = (size_t)QMPI_FUNCTION_COUNT * QMPI_STUB_SIZE;
    unsigned char *stubs =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stubs == MAP_FAILED) {
        problem = strerror(errno);
        return NULL;
    }
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (row[number])
            qmpi_arch_write_stub(stubs + (size_t)number * QMPI_STUB_SIZE, row[number],
                                 qmpi_ends[number].over);
    }
    if (mprotect(stubs, size, PROT_READ | PROT_EXEC) != 0) {
        problem = "this system lets no process make code at run time";
        munmap(stubs, size);
        return NULL;
    }
    return stubs;
}

static qmpi_function *stub(struct qmpi_layer *layer, int number)
{
    pthread_mutex_lock(&lock);
    if (!layer->stubs)
        layer->stubs = make_stubs(layer);
    unsigned char *stubs = layer->stubs;
    pthread_mutex_unlock(&lock);
    return stubs ? (qmpi_function *)(uintptr_t)(stubs + (size_t)number * QMPI_STUB_SIZE) : NULL;
}

qmpi_function *qmpi_below(struct qmpi_layer *layer, int number)
{
    const QMPI_Context node = QMPIX_stack.below[layer->tool_id][number];
    if (!node)
        return NULL;
    if (!node->next)
        return qmpi_bases[number];
    if (node->data)
        return (qmpi_function *)(uintptr_t)node->data;
    return stub(layer, number);
}

const char *qmpi_below_problem(void)
{
    return problem;
}
