/* SPDX-License-Identifier: MIT */
/*
 * Switches layers, and adds interceptors to them. New nodes are created for the functions of the
 * layer and of the layers above it, and all pointers down the chains are changed to the new nodes.
 * A call in progress continues with the nodes that it meets, old or new. Since each node leads
 * downwards, a switch never makes a call miss the terminator or reach it twice.
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

/* Arrays by tool_id. */

/* Stored with release between qmpi_chain_hold and qmpi_chain_release, before the nodes are changed.
 * Any thread may load it, with acquire. A thread that holds the chains needs no such order. */
static bool off[QMPI_LAYERS_MAX + 1];
/* These do not change after qmpi_chain_activate. */
static bool *kept_while_off[QMPI_LAYERS_MAX + 1]; /* [number]: see QMPIX_Tool_keep_function */
static const unsigned char *limits[QMPI_LAYERS_MAX + 1]; /* [number]; NULL: none */
/* Whether qmpi_switch_set_enabled has succeeded for the layer. Used by threads that hold the
 * chains. */
static bool chosen[QMPI_LAYERS_MAX + 1];
/* Stored with release and loaded with acquire, so that a callback finds what the tool has stored
 * before it registered the callback. */
static void (*callbacks[QMPI_LAYERS_MAX + 1])(int tool_id);

/* [number]: the new next node below a layer, or the new first node for tool_id 0. NULL: no
 * change. */
typedef QMPI_Context next_row[QMPI_FUNCTION_COUNT];

bool qmpi_switch_is_enabled(int tool_id)
{
    return qmpi_layer_get(tool_id) && !__atomic_load_n(&off[tool_id], __ATOMIC_ACQUIRE);
}

bool qmpi_switch_passes_always(int tool_id, int number)
{
    return kept_while_off[tool_id] && kept_while_off[tool_id][number];
}

void qmpi_switch_pass_always(int tool_id, int number)
{
    if (!kept_while_off[tool_id])
        kept_while_off[tool_id] =
            qmpi_allocate(QMPI_FUNCTION_COUNT, sizeof *kept_while_off[tool_id]);
    kept_while_off[tool_id][number] = true;
}

void qmpi_switch_limit(int tool_id, const unsigned char *listed)
{
    limits[tool_id] = listed;
}

void qmpi_switch_start_off(int tool_id)
{
    off[tool_id] = true;
}

/* Returns whether the layer is on for a function. */
static bool is_on_for(int tool_id, int number)
{
    return qmpi_switch_is_enabled(tool_id) && (!limits[tool_id] || limits[tool_id][number]);
}

bool qmpi_switch_passes(int tool_id, int number)
{
    return qmpi_switch_passes_always(tool_id, number) || is_on_for(tool_id, number);
}

static bool is_called(int tool_id, int number)
{
    return qmpi_switch_passes(tool_id, number) && qmpi_chain_intercepts(tool_id, number);
}

/* The new nodes of layer `lowest` and of the layers above it: for all functions, for one function,
 * or for those that are switched with layer `tool_id`. */
struct building {
    next_row *rows; /* `lowest` rows, by tool_id */
    int lowest, tool_id;
    int number;         /* the only function; -1: several functions */
    bool all, is_ready; /* all: for all functions; is_ready: prepare_change has succeeded */
};

static bool is_rebuilt(const struct building *building, int number)
{
    if (building->all || building->number >= 0)
        return building->all || building->number == number;
    return qmpi_chain_intercepts(building->tool_id, number) &&
           !qmpi_switch_passes_always(building->tool_id, number);
}

static void build_nodes(struct building *building)
{
    next_row *const rows = building->rows;
    const int lowest = building->lowest;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        QMPI_Context node = qmpi_chain_rest(lowest, number);
        if (!node || !is_rebuilt(building, number))
            continue;
        for (int layer = lowest; layer >= 1; layer--) {
            if (is_called(layer, number))
                node = qmpi_chain_insert(layer, number, node);
            rows[layer - 1][number] = qmpi_chain_join(layer - 1, number, node);
        }
    }
}

static bool unprotect_relocations(next_row *rows, int lowest)
{
    bool good = true;
    for (int above = lowest - 1; good && above >= 1; above--)
        good = qmpi_relocate_unprotect(above, rows[above]);
    return good;
}

/* Allocates all memory that a change needs. If memory is exhausted, the next attempt uses the nodes
 * that were created so far. */
static void prepare_change(void *data)
{
    struct building *building = data;
    build_nodes(building);
    building->is_ready = unprotect_relocations(building->rows, building->lowest);
}

/* Activates the new nodes. Calls load most pointers with relaxed order. A barrier therefore
 * precedes the pointers to nodes, so that calls of a layer find the data that its tool has stored,
 * and another one precedes the pointers through which code jumps: those of the entry points and the
 * references of PMPI tools. */
static void activate_rows(next_row *rows, int lowest)
{
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (rows[0][number])
            qmpi_chain_set_topmost(number, rows[0][number]);
    }
    qmpi_barrier_publish();
    for (int above = lowest - 1; above >= 0; above--) {
        for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
            if (rows[above][number])
                qmpi_chain_set_next(above, number, rows[above][number]);
        }
    }
    qmpi_barrier_publish();
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (rows[0][number])
            qmpi_chain_set_target(number);
    }
    for (int above = lowest - 1; above >= 1; above--) {
        const struct qmpi_layer *layer = qmpi_layer_get(above);
        qmpi_relocate_apply(above, rows[above]);
        if (layer->preloaded)
            qmpi_thunk_resolve_deferred(layer->preloaded);
    }
}

/* Returns the topmost layer that is on. A layer that keeps functions while it is off counts, too,
 * so that Fortran calls of these functions do not bypass it. */
int qmpi_switch_topmost(void)
{
    int tool_id = 1;
    while (qmpi_layer_get(tool_id) && off[tool_id] && !kept_while_off[tool_id])
        tool_id++;
    return tool_id;
}

/* Redirects Fortran calls if another tool is now on top, or if the set of functions that the tool
 * on top receives has changed. */
static void update_fortran_callers(const struct qmpi_fortran_callers *callers, int before, int now,
                                   int switched)
{
    const struct qmpi_layer *top = qmpi_layer_get(now);
    if (before != now || switched == now)
        qmpi_fortran_set_callers(top ? top->group : NULL, callers);
}

/* Returns whether a tool has Fortran wrappers. This does not change once the stack is built. */
static bool has_fortran_wrappers(void)
{
    static int known; /* 1: no, 2: yes. Each thread finds the same, so relaxed order is enough */
    int any = __atomic_load_n(&known, __ATOMIC_RELAXED);
    for (int tool_id = 1; !any && qmpi_layer_get(tool_id); tool_id++) {
        const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
        any = layer->group && qmpi_fortran_has_wrappers(layer->group) ? 2 : 0;
    }
    __atomic_store_n(&known, any ? any : 1, __ATOMIC_RELAXED);
    return any == 2;
}

/* Warns of tools that have looked up functions by dlsym, and may have saved the pointers. These
 * cannot be changed, so calls through them ignore the switch. */
static void warn_of_saved_pointers(int tool_id)
{
    static bool said[QMPI_LAYERS_MAX + 1];
    for (int above = tool_id - 1; above >= 1; above--) {
        if (said[above] || off[above] || !qmpi_interpose_gave_functions(above))
            continue;
        said[above] = true;
        if (qmpi_launcher_reports())
            qmpi_printf("layer %d (%s) looked up functions of the layers below with dlsym: calls "
                        "through saved pointers ignore that layer %d (%s) was switched\n  hint: "
                        "list the layers to be switched above it",
                        above, qmpi_layer_get(above)->name, tool_id, qmpi_layer_get(tool_id)->name);
    }
}

/* Whether a change is in progress, and whether this process was forked while another thread
 * was making a change. Such a child uses some old and some new nodes. Its calls still reach the MPI
 * library, and its next change replaces all old nodes. */
static bool changing, interrupted;

static void record_interruption(void)
{
    if (changing)
        qmpi_relocate_forget();
    interrupted |= changing;
    changing = false;
}

/* Begins to change what a layer intercepts: only function `number`, or all functions if `number` is
 * -1. Returns false if memory is exhausted. */
static bool begin_change(struct building *building, int tool_id, int number)
{
    static bool watched;
    if (!watched)
        watched = pthread_atfork(NULL, NULL, record_interruption) == 0;
    const int lowest = interrupted ? QMPIX_stack.layers : tool_id;
    *building = (struct building){.rows = calloc((size_t)lowest, sizeof *building->rows),
                                  .lowest = lowest,
                                  .tool_id = tool_id,
                                  .number = number,
                                  .all = interrupted};
    changing = building->rows != NULL;
    return changing;
}

/* Builds and activates the new nodes. Returns false if memory is exhausted or the system does not
 * allow relocations to be changed; nothing has changed then. */
static bool finish_change(struct building *building)
{
    const bool good = qmpi_memory_catch_exhausted(prepare_change, building) && building->is_ready;
    if (good)
        activate_rows(building->rows, building->lowest);
    return good;
}

static void end_change(struct building *building, bool good)
{
    changing = false;
    interrupted &= !good;
    qmpi_relocate_protect();
    free(building->rows);
}

/* Switches a layer. Returns false in the same cases as finish_change; nothing has changed then. */
static bool change_layer(int tool_id, bool enabled, const struct qmpi_fortran_callers *callers)
{
    const int top = qmpi_switch_topmost();
    struct building building;
    if (!begin_change(&building, tool_id, -1))
        return false;
    __atomic_store_n(&off[tool_id], !enabled, __ATOMIC_RELEASE);
    const bool good = finish_change(&building);
    if (!good)
        __atomic_store_n(&off[tool_id], enabled, __ATOMIC_RELEASE);
    end_change(&building, good);
    update_fortran_callers(callers, top, qmpi_switch_topmost(), tool_id);
    if (good) {
        warn_of_saved_pointers(tool_id);
        qmpi_debug(QMPI_TOPIC_CHAIN, "layer %d (%s) was switched %s", tool_id,
                   qmpi_layer_get(tool_id)->name, enabled ? "on" : "off");
    }
    return good;
}

/* Called without the lock, because callbacks may switch layers. */
static void call_callbacks(void)
{
    qmpi_service_notify();
    for (int tool_id = 1; qmpi_layer_get(tool_id); tool_id++) {
        void (*callback)(int) = __atomic_load_n(&callbacks[tool_id], __ATOMIC_ACQUIRE);
        if (callback)
            callback(tool_id);
    }
}

/* Gives a layer another interceptor for a function. Returns false in the same cases as
 * finish_change; nothing has changed then. */
static bool change_interceptor(qmpi_function **interceptor, int tool_id, int number,
                               qmpi_function *fp)
{
    qmpi_function *const before = *interceptor;
    struct building building;
    if (!begin_change(&building, tool_id, number))
        return false;
    *interceptor = fp;
    const bool good = finish_change(&building);
    if (!good)
        *interceptor = before;
    end_change(&building, good);
    return good;
}

/* Adds an interceptor. This is refused for a layer of MPICH's variant and for a PMPI layer, because
 * the functions in their nodes have another calling convention. */
int qmpi_switch_intercept(int tool_id, int number, qmpi_function *fp)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!qmpi_chain_is_active() || !__atomic_load_n(&layer->ready, __ATOMIC_ACQUIRE) ||
        layer->group || layer->mpich_functions)
        return MPI_ERR_OTHER;
    qmpi_chain_hold();
    const bool good = change_interceptor(&layer->functions[number], tool_id, number, fp);
    qmpi_chain_release();
    if (!good)
        return MPI_ERR_OTHER;
    qmpi_debug(QMPI_TOPIC_CHAIN, "layer %d (%s) now intercepts %s", tool_id, layer->name,
               QMPIX_Function_name((enum QMPI_Functions_enum)number));
    call_callbacks();
    return MPI_SUCCESS;
}

void qmpi_switch_leave_out(int tool_id)
{
    __atomic_store_n(&callbacks[tool_id], NULL, __ATOMIC_RELEASE);
}

static void hold_fortran_callers(void *data)
{
    struct qmpi_fortran_callers *callers = data;
    *callers = qmpi_fortran_hold();
}

static int set_enabled(int tool_id, bool enabled, bool by_condition)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    if (!layer)
        return MPI_ERR_ARG;
    if (!qmpi_chain_is_active())
        return MPI_ERR_OTHER;
    if (layer->preloaded && layer->preloaded->program)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    /* This is done before the chains are locked, because it waits for threads that load libraries,
     * and they may need the lock. */
    struct qmpi_fortran_callers callers = {NULL, 0};
    if (qmpi_binding_any && has_fortran_wrappers() &&
        !qmpi_memory_catch_exhausted(hold_fortran_callers, &callers))
        return MPI_ERR_OTHER;
    qmpi_chain_hold();
    const bool ignored = by_condition && chosen[tool_id];
    const bool same = ignored || (off[tool_id] == !enabled && !interrupted);
    const bool good = same || change_layer(tool_id, enabled, &callers);
    chosen[tool_id] |= good && !by_condition;
    qmpi_chain_release();
    qmpi_fortran_release(&callers);
    if (good && !same)
        call_callbacks();
    return good ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int qmpi_switch_set_enabled(int tool_id, bool enabled)
{
    return set_enabled(tool_id, enabled, false);
}

int qmpi_switch_apply_condition(int tool_id, bool enabled)
{
    return set_enabled(tool_id, enabled, true);
}

int QMPIX_Tool_set_enabled(int tool_id, int enabled)
{
    return qmpi_switch_set_enabled(tool_id, enabled != 0);
}

int QMPIX_Tool_get_enabled(int tool_id, int *enabled)
{
    if (!qmpi_layer_get(tool_id) || !enabled)
        return MPI_ERR_ARG;
    *enabled = qmpi_switch_is_enabled(tool_id);
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
    const bool is_valid = (unsigned)fn < (unsigned)QMPI_FUNCTION_COUNT;
    const int error = qmpi_layer_check_registration(__func__, tool_id, is_valid);
    if (error != MPI_SUCCESS)
        return error;
    qmpi_switch_pass_always(tool_id, (int)fn);
    return MPI_SUCCESS;
}

int QMPIX_Register_stack_changed(int tool_id, void (*callback)(int tool_id))
{
    if (!qmpi_layer_get(tool_id) || !callback)
        return qmpi_layer_note_registration(__func__, MPI_ERR_ARG);
    __atomic_store_n(&callbacks[tool_id], callback, __ATOMIC_RELEASE);
    return MPI_SUCCESS;
}
