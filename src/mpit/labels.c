/* SPDX-License-Identifier: MIT */
/*
 * See labels.h. A layer publishes in its init, when the layers above it are not loaded yet. That
 * they will be of the same tool is told by its library; two tools of one name from different
 * libraries are told apart by who is asked for first.
 */
#include "mpit/labels.h"

#include "registry/registry.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

QMPI_LOCK(lock);
static char *labels[QMPI_LAYERS_MAX + 1];
static bool forgotten[QMPI_LAYERS_MAX + 1];

static bool same_tool(const struct qmpi_layer *one, const struct qmpi_layer *other)
{
    if (one->tool && one->tool == other->tool)
        return true;
    return one->path && other->path && !strcmp(one->path, other->path);
}

static bool is_taken(const char *label)
{
    for (int tool_id = 1; qmpi_layer_get(tool_id); tool_id++) {
        if (labels[tool_id] && !strcmp(labels[tool_id], label))
            return true;
    }
    return false;
}

static char *make(const struct qmpi_layer *layer)
{
    int number = 1;
    for (int above = 1; above < layer->tool_id; above++)
        number += same_tool(qmpi_layer_get(above), layer);
    char *label = number == 1 ? qmpi_copy(layer->name) : qmpi_format("%s#%d", layer->name, number);
    while (is_taken(label)) {
        free(label);
        label = qmpi_format("%s#%d", layer->name, ++number);
    }
    return label;
}

const char *qmpi_mpit_label(int tool_id)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || !layer->name)
        return NULL;
    pthread_mutex_lock(&lock);
    if (!labels[tool_id] && !forgotten[tool_id])
        labels[tool_id] = make(layer);
    const char *label = forgotten[tool_id] ? NULL : labels[tool_id];
    pthread_mutex_unlock(&lock);
    return label;
}

void qmpi_mpit_label_forget(int tool_id)
{
    pthread_mutex_lock(&lock);
    forgotten[tool_id] = true;
    pthread_mutex_unlock(&lock);
}
