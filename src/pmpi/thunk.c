/* SPDX-License-Identifier: MIT */
/* See thunk.h. */
#define _GNU_SOURCE
#include "pmpi/thunk.h"

#include "util/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

QMPI_LOCK(lock);
static const char *problem; /* why the latest creation of thunks failed; NULL: it did not */

static bool needs_thunk(QMPI_Context node)
{
    return node && !qmpi_chain_plain(node) && !qmpi_node_of(node)->thunk;
}

/* Makes newly written code executable and no longer writable. Some processors may use old contents
 * of their instruction cache until it is cleared. */
static bool make_executable(unsigned char *code, size_t size)
{
    __builtin___clear_cache((char *)code, (char *)code + size);
    return mprotect(code, size, PROT_READ | PROT_EXEC) == 0;
}

/* Creates the `count` missing thunks of a row. */
static bool create_thunks(const QMPI_Context *row, int count)
{
    const size_t size = (size_t)count * QMPI_THUNK_SIZE;
    unsigned char *thunks =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (thunks == MAP_FAILED) {
        problem = strerror(errno);
        return false;
    }
    unsigned char *place = thunks;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!needs_thunk(row[number]))
            continue;
        qmpi_thunk_write(place, row[number], qmpi_dispatch_functions[number].thunk_call);
        place += QMPI_THUNK_SIZE;
    }
    if (!make_executable(thunks, size)) {
        problem = "this system does not allow processes to generate code";
        munmap(thunks, size);
        return false;
    }
    problem = NULL;         /* the reason may have been a lack of memory, which is over */
    qmpi_barrier_publish(); /* tools load pointers to thunks, and thunks load their words, with
                               relaxed order */
    place = thunks;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!needs_thunk(row[number]))
            continue;
        qmpi_node_of(row[number])->thunk = (qmpi_function *)(uintptr_t)place;
        place += QMPI_THUNK_SIZE;
    }
    return true;
}

bool qmpi_thunk_prepare(const QMPI_Context *row)
{
    int count = 0;
    pthread_mutex_lock(&lock);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++)
        count += needs_thunk(row[number]);
    const bool done = !count || create_thunks(row, count);
    pthread_mutex_unlock(&lock);
    return done;
}

qmpi_function *qmpi_thunk_node_function(QMPI_Context node)
{
    qmpi_function *plain = qmpi_chain_plain(node);
    if (plain)
        return plain;
    pthread_mutex_lock(&lock);
    qmpi_function *thunk = qmpi_node_of(node)->thunk;
    pthread_mutex_unlock(&lock);
    return thunk;
}

/* qmpi_chain_expose has stored the nodes below the layer, and switches change them. */
qmpi_function *qmpi_thunk_next_function(struct qmpi_layer *layer, int number)
{
    const QMPI_Context node = qmpi_chain_next(layer->tool_id, number);
    if (!node)
        return NULL;
    qmpi_function *found = qmpi_thunk_node_function(node);
    if (found)
        return found;
    /* Creates the thunks for all functions, because a page has room for many. */
    QMPI_Context row[QMPI_FUNCTION_COUNT];
    for (int other = 0; other < QMPI_FUNCTION_COUNT; other++)
        row[other] = qmpi_chain_next(layer->tool_id, other);
    row[number] = node;
    qmpi_thunk_prepare(row);
    return qmpi_thunk_node_function(node);
}

const char *qmpi_thunk_error(void)
{
    return problem;
}

/* ---- Deferred thunks ------------------------------------------------------------------------- */

/* The deferred thunks of a tool: their code, and the functions to which they jump, by number. */
struct qmpi_thunk_deferred {
    /* Thunks load the slots with relaxed order. A slot leads to a function of a loaded object, or
     * to a thunk that a barrier has published. */
    qmpi_function *slots[QMPI_FUNCTION_COUNT];
    unsigned char *code;
};

static struct qmpi_thunk_deferred *create_deferred(void)
{
    const size_t size = (size_t)QMPI_FUNCTION_COUNT * QMPI_THUNK_SIZE;
    unsigned char *code =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return NULL;
    struct qmpi_thunk_deferred *deferred = qmpi_allocate(1, sizeof *deferred);
    deferred->code = code;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        deferred->slots[number] = qmpi_pmpi_slots[number];
        qmpi_thunk_write_deferred(code + (size_t)number * QMPI_THUNK_SIZE,
                                  &deferred->slots[number]);
    }
    if (!make_executable(code, size)) {
        munmap(code, size);
        free(deferred);
        return NULL;
    }
    qmpi_barrier_publish(); /* as in create_thunks */
    return deferred;
}

void *qmpi_thunk_find_deferred(struct qmpi_preloaded_tool *preloaded, int number)
{
    pthread_mutex_lock(&lock);
    if (!preloaded->deferred)
        preloaded->deferred = create_deferred();
    const struct qmpi_thunk_deferred *deferred = preloaded->deferred;
    pthread_mutex_unlock(&lock);
    return deferred && deferred->slots[number] ? deferred->code + (size_t)number * QMPI_THUNK_SIZE
                                               : NULL;
}

void qmpi_thunk_resolve_deferred(struct qmpi_preloaded_tool *preloaded)
{
    for (int number = 0; preloaded->deferred && number < QMPI_FUNCTION_COUNT; number++) {
        qmpi_function *next_function = qmpi_thunk_next_function(preloaded->layer, number);
        if (next_function)
            __atomic_store_n(&preloaded->deferred->slots[number], next_function, __ATOMIC_RELEASE);
    }
}
