/* SPDX-License-Identifier: MIT */
/*
 * Layers that are switched off and on while the program runs: for the functions of that layer the
 * layers above it get other nodes, created in addition to the current ones, and everything that
 * leads down a chain is pointed to them. A call that is under way goes on where it is; as every
 * pointer leads downwards only, before and after, it comes to the base once whichever it meets.
 */
#define _GNU_SOURCE
#include "startup/switch.h"

#include "dispatch/dispatch.h"
#include "pmpi/pmpi.h"
#include "process/process.h"
#include "redirect/redirect.h"
#include "registry/registry.h"
#include "util/util.h"

#include <pthread.h>
#include <stdlib.h>

static bool off[QMPI_LAYERS_MAX + 1]; /* [tool_id]; written between qmpi_chain_hold and _release */
static bool *saved[QMPI_LAYERS_MAX + 1]; /* [tool_id][number]: called also while it is off */
static const unsigned char *limits[QMPI_LAYERS_MAX + 1]; /* [tool_id][number]; NULL: none */
static bool chosen[QMPI_LAYERS_MAX + 1]; /* [tool_id]: somebody has said what it is to be */
static void (*callbacks[QMPI_LAYERS_MAX + 1])(int tool_id);

/* The nodes to come, [tool_id][number], as dispatch/chain.h's below: [0] from MPI_X. NULL: no
 * change. */
typedef QMPI_Context row[QMPI_FUNCTION_COUNT];

bool qmpi_chain_is_enabled(int tool_id)
{
    return qmpi_layer_get(tool_id) && !__atomic_load_n(&off[tool_id], __ATOMIC_ACQUIRE);
}

bool qmpi_chain_passes_always(int tool_id, int number)
{
    return saved[tool_id] && saved[tool_id][number];
}

void qmpi_chain_pass_always(int tool_id, int number)
{
    if (!saved[tool_id])
        saved[tool_id] = qmpi_allocate(QMPI_FUNCTION_COUNT, sizeof *saved[tool_id]);
    saved[tool_id][number] = true;
}

void qmpi_chain_limit(int tool_id, const unsigned char *listed)
{
    limits[tool_id] = listed;
}

void qmpi_chain_start_off(int tool_id)
{
    off[tool_id] = true;
}

/* Whether the layer is on for a function, by its C or Fortran name. */
static bool is_on_for(int tool_id, int number)
{
    return qmpi_chain_is_enabled(tool_id) && (!limits[tool_id] || limits[tool_id][number]);
}

bool qmpi_chain_passes(int tool_id, int number)
{
    return qmpi_chain_passes_always(tool_id, number) || is_on_for(tool_id, number);
}

static bool calls(int tool_id, int number)
{
    return qmpi_chain_passes(tool_id, number) && qmpi_chain_intercepts(tool_id, number);
}

/* What `lowest` and the layers above it will lead to: for all functions, or only for those that are
 * switched with layer `tool_id`. */
static row *build(int lowest, int tool_id, bool all)
{
    row *node_table = qmpi_allocate((size_t)lowest, sizeof *node_table);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        QMPI_Context node = qmpi_chain_next(lowest, number);
        const bool wanted = all || (qmpi_chain_intercepts(tool_id, number) &&
                                    !qmpi_chain_passes_always(tool_id, number));
        if (!node || !wanted)
            continue;
        for (int layer = lowest; layer >= 1; layer--) {
            if (calls(layer, number))
                node = qmpi_chain_insert(layer, number, node);
            node_table[layer - 1][number] = node;
        }
    }
    return node_table;
}

static bool unprotect_relocations(row *node_table, int lowest)
{
    bool good = true;
    for (int above = lowest - 1; good && above >= 1; above--)
        good = qmpi_relocations_unprotect(above, node_table[above]);
    return good;
}

static void publish(row *node_table, int lowest)
{
    for (int above = lowest - 1; above >= 0; above--) {
        for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
            if (node_table[above][number])
                qmpi_chain_set_next(above, number, node_table[above][number]);
        }
    }
    for (int above = lowest - 1; above >= 1; above--) {
        const struct qmpi_layer *layer = qmpi_layer_get(above);
        qmpi_relocations_apply(above, node_table[above]);
        if (layer->preloaded)
            qmpi_deferred_resolve(layer->preloaded);
    }
}

/* A layer that keeps functions stays on top: a Fortran call of one of them must not pass it by. */
int qmpi_chain_topmost(void)
{
    int tool_id = 1;
    while (qmpi_layer_get(tool_id) && off[tool_id] && !saved[tool_id])
        tool_id++;
    return tool_id;
}

/* Fortran calls that led into the tool on top lead into the one that is now there, or past both, or
 * into the same tool for other functions. */
static void set_fortran_callers(const struct qmpi_fortran_callers *callers, int before, int now,
                                int switched)
{
    const struct qmpi_layer *top = qmpi_layer_get(now);
    if (before != now || switched == now)
        qmpi_fortran_set_callers(top ? top->group : NULL, callers);
}

/* The stack is built, and what its tools define does not change. */
static bool any_fortran_wrappers(void)
{
    static int known; /* 1: no, 2: yes */
    int any = __atomic_load_n(&known, __ATOMIC_RELAXED);
    for (int tool_id = 1; !any && qmpi_layer_get(tool_id); tool_id++) {
        const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
        any = layer->group && qmpi_fortran_has_wrappers(layer->group) ? 2 : 0;
    }
    __atomic_store_n(&known, any ? any : 1, __ATOMIC_RELAXED);
    return any == 2;
}

/* A tool that keeps what dlsym told it cannot be led elsewhere: who trusts its figures must know.
 */
static void warn_of_saved_pointers(int tool_id)
{
    static bool said[QMPI_LAYERS_MAX + 1];
    for (int above = tool_id - 1; above >= 1; above--) {
        if (said[above] || off[above] || !qmpi_tool_dlsym_told(above))
            continue;
        said[above] = true;
        if (qmpi_is_reporting_process())
            qmpi_printf("layer %d (%s) looked up functions of the layers below with dlsym: calls "
                        "through saved pointers ignore that layer %d (%s) was switched\n  hint: "
                        "list the layers to be switched above it",
                        above, qmpi_layer_get(above)->name, tool_id, qmpi_layer_get(tool_id)->name);
    }
}

/* A child that was forked in the middle of a change by another thread has some of the old nodes and
 * some of the new ones in force. Calls come through; the next change puts all of them right. */
static bool changing, interrupted;

static void note_fork(void)
{
    if (changing)
        qmpi_relocations_forget();
    interrupted |= changing;
    changing = false;
}

static bool change(int tool_id, bool enabled, const struct qmpi_fortran_callers *callers)
{
    static bool watched;
    if (!watched)
        watched = pthread_atfork(NULL, NULL, note_fork) == 0;
    const int top = qmpi_chain_topmost();
    const int lowest = interrupted ? QMPIX_stack.layers : tool_id;
    changing = true;
    __atomic_store_n(&off[tool_id], !enabled, __ATOMIC_RELEASE);
    row *node_table = build(lowest, tool_id, interrupted);
    const bool good = unprotect_relocations(node_table, lowest);
    if (good)
        publish(node_table, lowest);
    else
        __atomic_store_n(&off[tool_id], enabled, __ATOMIC_RELEASE);
    changing = false;
    interrupted &= !good;
    qmpi_relocations_protect();
    free(node_table);
    set_fortran_callers(callers, top, qmpi_chain_topmost(), tool_id);
    if (good) {
        warn_of_saved_pointers(tool_id);
        qmpi_debug(QMPI_TOPIC_CHAIN, "layer %d (%s) was switched %s", tool_id,
                   qmpi_layer_get(tool_id)->name, enabled ? "on" : "off");
    }
    return good;
}

/* Without the lock: what is called may switch layers too. */
static void call_back(void)
{
    qmpi_service_notify();
    for (int tool_id = 1; qmpi_layer_get(tool_id); tool_id++) {
        void (*callback)(int) = __atomic_load_n(&callbacks[tool_id], __ATOMIC_ACQUIRE);
        if (callback)
            callback(tool_id);
    }
}

void qmpi_chain_leave_out(int tool_id)
{
    __atomic_store_n(&callbacks[tool_id], NULL, __ATOMIC_RELEASE);
}

static int set_enabled(int tool_id, bool enabled, bool by_condition)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer)
        return MPI_ERR_ARG;
    if (!qmpi_chain_is_open())
        return MPI_ERR_OTHER;
    if (layer->preloaded && layer->preloaded->program)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    /* Before the lock: who loads a library, which this waits for, may be about to take that. */
    struct qmpi_fortran_callers callers = {NULL, 0};
    if (qmpi_binding_any && any_fortran_wrappers())
        callers = qmpi_fortran_hold();
    qmpi_chain_hold();
    const bool ignored = by_condition && chosen[tool_id];
    const bool same = ignored || (off[tool_id] == !enabled && !interrupted);
    const bool good = same || change(tool_id, enabled, &callers);
    chosen[tool_id] |= good && !by_condition;
    qmpi_chain_release();
    qmpi_fortran_let_go(&callers);
    if (good && !same)
        call_back();
    return good ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int qmpi_chain_set_enabled(int tool_id, bool enabled)
{
    return set_enabled(tool_id, enabled, false);
}

int qmpi_chain_apply_condition(int tool_id, bool enabled)
{
    return set_enabled(tool_id, enabled, true);
}

int QMPIX_Tool_set_enabled(int tool_id, int enabled)
{
    return qmpi_chain_set_enabled(tool_id, enabled != 0);
}

int QMPIX_Tool_get_enabled(int tool_id, int *enabled)
{
    if (!qmpi_layer_get(tool_id) || !enabled)
        return MPI_ERR_ARG;
    *enabled = qmpi_chain_is_enabled(tool_id);
    return MPI_SUCCESS;
}

int QMPIX_Tool_get_function_enabled(int tool_id, enum QMPI_Functions_enum fn, int *enabled)
{
    if (!qmpi_layer_get(tool_id) || (unsigned)fn >= (unsigned)QMPI_FUNCTION_COUNT || !enabled)
        return MPI_ERR_ARG;
    *enabled = is_on_for(tool_id, (int)fn);
    return MPI_SUCCESS;
}

int QMPIX_Tool_keep_function(int tool_id, enum QMPI_Functions_enum fn)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer || (unsigned)fn >= (unsigned)QMPI_FUNCTION_COUNT)
        return MPI_ERR_ARG;
    if (!qmpi_layer_is_initialising(layer))
        return MPI_ERR_OTHER;
    qmpi_chain_pass_always(tool_id, (int)fn);
    return MPI_SUCCESS;
}

int QMPIX_Register_stack_changed(int tool_id, void (*callback)(int tool_id))
{
    if (!qmpi_layer_get(tool_id) || !callback)
        return MPI_ERR_ARG;
    __atomic_store_n(&callbacks[tool_id], callback, __ATOMIC_RELEASE);
    return MPI_SUCCESS;
}
