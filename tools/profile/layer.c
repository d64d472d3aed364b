/* SPDX-License-Identifier: MIT */
/* See layer.h. */
#define _GNU_SOURCE
#include "tools/profile/layer.h"

#include <time.h>
#include <unistd.h>

struct layer *layer_list;
static pid_t owner; /* the process that made the layers */

void layer_add(struct layer *layer)
{
    owner = getpid();
    layer->next = layer_list;
    layer_list = layer;
}

bool layers_are_of_process(void)
{
    return owner == getpid();
}

bool layer_is_on(const struct layer *layer)
{
    int enabled = 1;
    QMPIX_Tool_get_enabled(layer->tool_id, &enabled);
    return enabled != 0;
}

bool layer_is_on_for(const struct layer *layer, int number)
{
    int enabled = 1;
    QMPIX_Tool_get_function_enabled(layer->tool_id, (enum QMPI_Functions_enum)number, &enabled);
    return enabled != 0;
}

bool layer_lock(struct layer *layer, bool crashed)
{
    const struct timespec pause = {0, 1000000};
    if (!crashed)
        return !pthread_mutex_lock(&layer->lock);
    /* In the child, no other thread runs, so a lock that is held is never released. */
    for (int tries = 0; tries < 10; tries++) {
        if (!pthread_mutex_trylock(&layer->lock))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void layer_unlock(struct layer *layer, bool locked)
{
    if (locked)
        pthread_mutex_unlock(&layer->lock);
}
