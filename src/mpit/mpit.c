/* SPDX-License-Identifier: MIT */
/* See mpit.h. */
#include "mpit/mpit.h"

#include "mpit/index.h"
#include "mpit/library.h"
#include "mpit/merged.h"
#include "mpit/publish.h"
#include "registry/registry.h"
#include "util/util.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Merging --------------------------------------------------------------------------------- */

#define MERGED(x, X)                                                                               \
    {                                                                                              \
        MPI_T_##X##_T, (qmpi_function *)qmpi_mpit_##x                                              \
    }

static const struct {
    int number;
    qmpi_function *function;
} merged[] = {
    MERGED(init_thread, INIT_THREAD),
    MERGED(finalize, FINALIZE),
    {MPI_FINALIZE_T, (qmpi_function *)qmpi_mpit_mpi_finalize},
    MERGED(enum_get_info, ENUM_GET_INFO),
    MERGED(enum_get_item, ENUM_GET_ITEM),
    MERGED(cvar_get_num, CVAR_GET_NUM),
    MERGED(cvar_get_info, CVAR_GET_INFO),
    MERGED(cvar_get_index, CVAR_GET_INDEX),
    MERGED(cvar_handle_alloc, CVAR_HANDLE_ALLOC),
    MERGED(cvar_handle_free, CVAR_HANDLE_FREE),
    MERGED(cvar_read, CVAR_READ),
    MERGED(cvar_write, CVAR_WRITE),
    MERGED(pvar_get_num, PVAR_GET_NUM),
    MERGED(pvar_get_info, PVAR_GET_INFO),
    MERGED(pvar_get_index, PVAR_GET_INDEX),
    MERGED(pvar_session_create, PVAR_SESSION_CREATE),
    MERGED(pvar_session_free, PVAR_SESSION_FREE),
    MERGED(pvar_handle_alloc, PVAR_HANDLE_ALLOC),
    MERGED(pvar_handle_free, PVAR_HANDLE_FREE),
    MERGED(pvar_start, PVAR_START),
    MERGED(pvar_stop, PVAR_STOP),
    MERGED(pvar_read, PVAR_READ),
    MERGED(pvar_write, PVAR_WRITE),
    MERGED(pvar_reset, PVAR_RESET),
    MERGED(pvar_readreset, PVAR_READRESET),
    MERGED(category_changed, CATEGORY_CHANGED),
    MERGED(category_get_num, CATEGORY_GET_NUM),
    MERGED(category_get_info, CATEGORY_GET_INFO),
    MERGED(category_get_index, CATEGORY_GET_INDEX),
    MERGED(category_get_cvars, CATEGORY_GET_CVARS),
    MERGED(category_get_pvars, CATEGORY_GET_PVARS),
    MERGED(category_get_categories, CATEGORY_GET_CATEGORIES),
#ifdef MPI_SESSION_NULL
    {MPI_SESSION_FINALIZE_T, (qmpi_function *)qmpi_mpit_session_finalize},
#endif
#if MPI_VERSION >= 4
    MERGED(category_get_num_events, CATEGORY_GET_NUM_EVENTS),
    MERGED(category_get_events, CATEGORY_GET_EVENTS),
    MERGED(event_get_num, EVENT_GET_NUM),
    MERGED(event_get_info, EVENT_GET_INFO),
    MERGED(event_get_index, EVENT_GET_INDEX),
    MERGED(event_handle_alloc, EVENT_HANDLE_ALLOC),
    MERGED(source_get_num, SOURCE_GET_NUM),
    MERGED(source_get_info, SOURCE_GET_INFO),
    MERGED(source_get_timestamp, SOURCE_GET_TIMESTAMP),
#endif
};

void qmpi_mpit_merge(qmpi_function **terminator_targets, qmpi_function **pmpi_targets)
{
    qmpi_mpit_library_start();
    for (size_t i = 0; i < sizeof merged / sizeof *merged; i++) {
        const int number = merged[i].number;
        if (!qmpi_dispatch_functions[number].terminator)
            continue;
        terminator_targets[number] = merged[i].function;
        if (number == MPI_T_INIT_THREAD_T || number == MPI_T_FINALIZE_T)
            pmpi_targets[number] = merged[i].function;
    }
}

void qmpi_mpit_leave_out(int tool_id)
{
    qmpi_mpit_lazy_forget(tool_id);
    qmpi_mpit_label_forget(tool_id);
    qmpi_mpit_withdraw(tool_id);
}

/* ---- Variables of the dispatcher ------------------------------------------------------------- */

/* The minimum size of the variable `stack`. MPICH's test cvarwrite.c writes each string variable
 * that is smaller than this, even a constant one, and expects to read what it has written. */
enum { STACK_COUNT = 512 };

static bool (*is_enabled)(int tool_id);
static int (*set_enabled)(int tool_id, bool enabled);

static void publish_cvar_in(int tool_id, struct qmpi_mpit_category *category,
                            const QMPIX_Cvar *cvar)
{
    struct qmpi_mpit_variable *variable = qmpi_mpit_new_cvar(tool_id, cvar);
    variable->item.category = category;
    if (!qmpi_mpit_publish(&variable->item, cvar->name, cvar->description, false, NULL))
        free(variable);
}

static int tool_id_of(const void *user)
{
    return (int)(intptr_t)user;
}

/* [tool_id]: the value that a client has written last. While the layer is on, the client reads this
 * value again, or 1 if it is 0. */
static _Atomic int on_values[QMPI_LAYERS_MAX + 1];

static int read_enabled(void *user, const void *object, void *buffer, int count)
{
    const int on = atomic_load(&on_values[tool_id_of(user)]);
    const int enabled = !is_enabled(tool_id_of(user)) ? 0 : on ? on : 1;
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
    const int result = set_enabled(tool_id_of(user), enabled != 0);
    if (result == MPI_SUCCESS) {
        atomic_store(&on_values[tool_id_of(user)], enabled);
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
    publish_cvar_in(tool_id, category, &enabled);
}

/* Returns the names of the tools from the application down, such as `count:libmpiP:count`, without
 * layers that are left out. */
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

/* Writes no more than the text, because the buffer of a client may be smaller than the variable.
 */
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

static void publish_stack_now(void *data)
{
    const int tool_id = *(const int *)data;
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
    publish_cvar_in(tool_id, root, &stack);
    for (int layer = 1; qmpi_layer_get(layer); layer++)
        qmpi_mpit_category_for(layer, NULL);
}

/* Publishes the variable `stack`, and creates the categories of the layers, with the variable
 * `enabled` of each. If memory is exhausted, some are missing. */
static void publish_stack(int tool_id)
{
    qmpi_memory_catch_exhausted(publish_stack_now, &tool_id);
}

void qmpi_mpit_publish_stack(void)
{
    if (qmpi_layer_get(1))
        qmpi_mpit_lazy_add(0, publish_stack);
}
