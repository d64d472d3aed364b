/* SPDX-License-Identifier: MIT */
/* See stack_vars.h and merge.h. */
#include "mpit/stack_vars.h"

#include "mpit/labels.h"
#include "mpit/lazy.h"
#include "mpit/publish.h"
#include "mpit/variable.h"
#include "registry/registry.h"
#include "util/util.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The least that the stack's name is said to hold. Clients that write to every variable and read it
 * again take strings of their own size for such as hold what they write (MPICH's tests do). */
enum { STACK_COUNT = 512 };

static bool (*is_enabled)(int tool_id);
static int (*set_enabled)(int tool_id, bool enabled);

static void publish_cvar(int tool_id, struct qmpi_mpit_category *category, const QMPIX_Cvar *cvar)
{
    struct qmpi_mpit_variable *variable = qmpi_mpit_new_cvar(tool_id, cvar);
    variable->item.category = category;
    if (!qmpi_mpit_publish(&variable->item, cvar->name, cvar->description, false, NULL))
        free(variable);
}

static int layer_of(const void *user)
{
    return (int)(intptr_t)user;
}

/* What a client wrote last to switch the layer on: it reads the same number again. */
static _Atomic int on_values[QMPI_LAYERS_MAX + 1];

static int read_enabled(void *user, const void *object, void *buffer, int count)
{
    const int on = atomic_load(&on_values[layer_of(user)]);
    const int enabled = !is_enabled(layer_of(user)) ? 0 : on ? on : 1;
    (void)object;
    (void)count;
    memcpy(buffer, &enabled, sizeof enabled);
    return MPI_SUCCESS;
}

static int write_enabled(void *user, const void *object, const void *buffer, int count)
{
    int enabled;
    (void)object;
    (void)count;
    memcpy(&enabled, buffer, sizeof enabled);
    const int result = set_enabled(layer_of(user), enabled != 0);
    if (result == MPI_SUCCESS) {
        atomic_store(&on_values[layer_of(user)], enabled);
        return MPI_SUCCESS;
    }
    return result == MPI_ERR_OTHER ? MPI_T_ERR_CVAR_SET_NOT_NOW : MPI_T_ERR_CVAR_SET_NEVER;
}

static void publish_layer(int tool_id, struct qmpi_mpit_category *category)
{
    const QMPIX_Cvar enabled = {
        .size = sizeof enabled,
        .name = "enabled",
        .description = "0: the layer is switched off; any other value: the layer is called",
        .datatype = MPI_INT,
        .scope = MPI_T_SCOPE_LOCAL,
        .read = read_enabled,
        .write = write_enabled,
        .user = (void *)(intptr_t)tool_id};
    publish_cvar(tool_id, category, &enabled);
}

/* `count:libmpiP:count`: the tools' names, from the application down; of the layers that are there.
 */
static char *describe_stack(void)
{
    char *text = qmpi_copy("");
    for (int tool_id = 1; qmpi_layer_get(tool_id); tool_id++) {
        if (!qmpi_mpit_label(tool_id))
            continue;
        char *longer = qmpi_format("%s%s%s", text, *text ? ":" : "", qmpi_layer_get(tool_id)->name);
        free(text);
        text = longer;
    }
    return text;
}

/* No more than the text: whoever has less room than was told has room for that. */
static int read_stack(void *user, const void *object, void *buffer, int count)
{
    (void)object;
    (void)count;
    memcpy(buffer, user, strlen(user) + 1);
    return MPI_SUCCESS;
}

void qmpi_mpit_use_switch(bool (*ask)(int tool_id), int (*set)(int tool_id, bool enabled))
{
    is_enabled = ask;
    set_enabled = set;
    qmpi_mpit_when_layer_appears(publish_layer);
}

static void publish_stack(int tool_id)
{
    char *text = describe_stack();
    const size_t length = strlen(text) + 1;
    struct qmpi_mpit_category *root = qmpi_mpit_category_for(0, NULL);
    const QMPIX_Cvar stack = {.size = sizeof stack,
                              .name = "stack",
                              .description = "The layers, from the application to the MPI library",
                              .datatype = MPI_CHAR,
                              .count = length < STACK_COUNT ? STACK_COUNT : (int)length,
                              .scope = MPI_T_SCOPE_CONSTANT,
                              .read = read_stack,
                              .user = text};
    publish_cvar(tool_id, root, &stack);
    for (int layer = 1; qmpi_layer_get(layer); layer++)
        qmpi_mpit_category_for(layer, NULL);
}

void qmpi_mpit_publish_stack(void)
{
    if (qmpi_layer_get(1))
        qmpi_mpit_lazy_add(0, publish_stack);
}
