/* SPDX-License-Identifier: MIT */
/* See lazy.h. */
#define _GNU_SOURCE
#include "mpit/lazy.h"

#include "dispatch/dispatch.h"
#include "registry/registry.h"
#include "util/util.h"

#include <qmpi/mpit.h>

#include <stdatomic.h>

/* Recursive: a publisher may use MPI_T itself. */
QMPI_LOCK_RECURSIVE(lock);
static void (*publishers[QMPI_LAYERS_MAX + 1])(int tool_id); /* NULL: none, or it has published;
                                                                 [0]: for the dispatcher */
static atomic_bool used;

void qmpi_mpit_lazy_add(int tool_id, void (*publish)(int tool_id))
{
    pthread_mutex_lock(&lock);
    const bool deferred = atomic_load(&used);
    if (!deferred)
        publishers[tool_id] = publish;
    pthread_mutex_unlock(&lock);
    if (deferred)
        publish(tool_id);
}

int QMPIX_Register_publisher(int tool_id, void (*publish)(int tool_id))
{
    if (!qmpi_layer_get(tool_id) || !publish)
        return MPI_ERR_ARG;
    qmpi_mpit_lazy_add(tool_id, publish);
    return MPI_SUCCESS;
}

void qmpi_mpit_lazy_forget(int tool_id)
{
    pthread_mutex_lock(&lock);
    publishers[tool_id] = NULL;
    pthread_mutex_unlock(&lock);
}

static void publish_of(int tool_id)
{
    void (*const publish)(int) = publishers[tool_id];
    publishers[tool_id] = NULL;
    if (publish)
        publish(tool_id);
}

static void publish_all(void)
{
    publish_of(0);
    for (int tool_id = QMPIX_stack.layers; tool_id >= 1; tool_id--)
        publish_of(tool_id);
}

void qmpi_mpit_lazy_start(void)
{
    if (atomic_load_explicit(&used, memory_order_acquire))
        return;
    pthread_mutex_lock(&lock);
    publish_all();
    /* While layers are still being initialized others may yet register. */
    if (qmpi_chain_is_open())
        atomic_store_explicit(&used, true, memory_order_release);
    pthread_mutex_unlock(&lock);
}
