/* SPDX-License-Identifier: MIT */
/* See next.h. */
#define _GNU_SOURCE
#include "pmpi/next.h"

#include "pmpi/thunk.h"
#include "util/util.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

QMPI_LOCK(lock);
static const char *problem;

static bool needs_stub(QMPI_Context node)
{
    return node && !qmpi_chain_plain(node) && !qmpi_node_of(node)->stub;
}

/* All of a row at once, in pages that are never writable and executable together. */
static bool make_stubs(const QMPI_Context *row, int count)
{
    const size_t size = (size_t)count * QMPI_STUB_SIZE;
    unsigned char *stubs =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stubs == MAP_FAILED) {
        problem = strerror(errno);
        return false;
    }
    unsigned char *place = stubs;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!needs_stub(row[number]))
            continue;
        qmpi_arch_write_stub(place, row[number], qmpi_ends[number].over);
        place += QMPI_STUB_SIZE;
    }
    if (mprotect(stubs, size, PROT_READ | PROT_EXEC) != 0) {
        problem = "this system does not allow processes to generate code";
        munmap(stubs, size);
        return false;
    }
    place = stubs;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!needs_stub(row[number]))
            continue;
        qmpi_node_of(row[number])->stub = (qmpi_function *)(uintptr_t)place;
        place += QMPI_STUB_SIZE;
    }
    return true;
}

bool qmpi_thunks_prepare(const QMPI_Context *row)
{
    int count = 0;
    pthread_mutex_lock(&lock);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++)
        count += needs_stub(row[number]);
    const bool done = !count || make_stubs(row, count);
    pthread_mutex_unlock(&lock);
    return done;
}

qmpi_function *qmpi_thunk_at(QMPI_Context node)
{
    qmpi_function *plain = qmpi_chain_plain(node);
    if (plain)
        return plain;
    pthread_mutex_lock(&lock);
    qmpi_function *stub = qmpi_node_of(node)->stub;
    pthread_mutex_unlock(&lock);
    return stub;
}

qmpi_function *qmpi_thunk_of(struct qmpi_layer *layer, int number)
{
    const QMPI_Context node = qmpi_chain_next(layer->tool_id, number);
    if (!node)
        return NULL;
    qmpi_function *found = qmpi_thunk_at(node);
    if (found)
        return found;
    /* Whoever needs one stub soon needs others: the same page has room for many. */
    QMPI_Context row[QMPI_FUNCTION_COUNT];
    for (int other = 0; other < QMPI_FUNCTION_COUNT; other++)
        row[other] = qmpi_chain_next(layer->tool_id, other);
    row[number] = node;
    qmpi_thunks_prepare(row);
    return qmpi_thunk_at(node);
}

const char *qmpi_thunks_error(void)
{
    return problem;
}
