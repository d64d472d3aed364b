/* SPDX-License-Identifier: MIT */
/* See atexit.h. */
#define _GNU_SOURCE
#include "pmpi/atexit.h"

#include "dispatch/dispatch.h"
#include "pmpi/owner.h"
#include "util/util.h"

#include <stdlib.h>

/* The C library's, of the C++ ABI; no header declares it. */
int __cxa_atexit(void (*function)(void *), void *argument, void *object);

struct handler {
    void (*function)(void *);
    void *argument;
    struct handler *before; /* registered earlier by the same layer */
};

QMPI_LOCK(lock);
static struct handler *last[QMPI_LAYERS_MAX + 1]; /* [tool_id] */
static bool registered;

static struct handler *take(int tool_id)
{
    pthread_mutex_lock(&lock);
    struct handler *handler = last[tool_id];
    if (handler)
        last[tool_id] = handler->before;
    pthread_mutex_unlock(&lock);
    return handler;
}

static void run_all(void)
{
    pthread_mutex_lock(&lock);
    registered = false; /* a handler that registers another one has it run after these */
    pthread_mutex_unlock(&lock);
    for (int tool_id = 1; tool_id <= QMPI_LAYERS_MAX; tool_id++) {
        struct handler *handler;
        while ((handler = take(tool_id))) {
            handler->function(handler->argument);
            free(handler);
        }
    }
}

int qmpi_tool_cxa_atexit(void (*function)(void *), void *argument, void *object)
{
    const struct qmpi_layer *layer = qmpi_pmpi_layer_of(__builtin_return_address(0));
    if (!layer)
        return __cxa_atexit(function, argument, object);
    struct handler *handler = qmpi_allocate(1, sizeof *handler);
    pthread_mutex_lock(&lock);
    *handler = (struct handler){function, argument, last[layer->tool_id]};
    last[layer->tool_id] = handler;
    const bool first = !registered;
    registered = true;
    pthread_mutex_unlock(&lock);
    return first ? atexit(run_all) : 0;
}
