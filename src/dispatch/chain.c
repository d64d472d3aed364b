/* SPDX-License-Identifier: MIT */
/*
 * See chain.h. The path of a call: the entry point MPI_X (entries.S, generated) jumps through
 * qmpi_slots to what target_of chooses. If that is the trampoline (enter_MPI_X, generated in
 * dispatch_N.c or, where arch/frame.h demands assembly code, in entries.S), it calls the first
 * node, qmpi_heads[X]. Each layer calls the node after its own, and the last node's function, the
 * terminator (dispatch_N.c), calls qmpi_terminator_targets[X]: PMPI_X of the MPI library, which
 * process/mpi_library.c has found, or a wrapper of it.
 */
#include "dispatch/chain.h"

#include "dispatch/node.h"
#include "util/util.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* Data that calls read while startup/startup.c builds the stack or startup/switch.c switches a
 * layer; both change the data under a lock. Each pointer is stored with release order, after the
 * nodes to which it leads are complete. Calls may load the heads and the topmost nodes with relaxed
 * order: see qmpi_chain_activate and activate_rows in startup/switch.c, which call
 * qmpi_barrier_publish. */
qmpi_node_pointer qmpi_heads[QMPI_FUNCTION_COUNT];
_Atomic(const struct qmpi_node_trampoline *) qmpi_node_trampolines[QMPI_FUNCTION_COUNT];
qmpi_node_pointer qmpi_topmost_qmpi_nodes[QMPI_FUNCTION_COUNT];

qmpi_function *qmpi_terminator_targets[QMPI_FUNCTION_COUNT];
qmpi_function *qmpi_pmpi_targets[QMPI_FUNCTION_COUNT];

/* Default visibility: the inline functions of <qmpi/qmpi.h> read it from inside tools. */
struct QMPIX_Stack QMPIX_stack;

QMPI_LOCK(switch_lock); /* see qmpi_chain_hold */

/* Rows of nodes. A pointer to a row is stored with release order, after the row is complete, and
 * before the layer above the row is initialized. The elements are stored with release order when
 * layers are switched, after the new nodes are complete and qmpi_barrier_publish has been called.
 * Calls load the pointer to the row, the element and the node in relaxed order: the address of each
 * depends on the one before, which orders the loads as acquire would. */
static QMPI_Context terminator_row[QMPI_FUNCTION_COUNT];
const QMPI_Context *qmpi_node_rows[QMPI_LAYERS_MAX + 2];
QMPI_Context qmpi_fixed_rows[QMPI_FIXED_ROWS][QMPI_FUNCTION_COUNT];
static const QMPI_Context null_row[QMPI_FUNCTION_COUNT];
unsigned qmpi_next_row_count;
const QMPI_Context *qmpi_next_rows[QMPI_LAYERS_MAX + 1];
static QMPI_Context **below_rows; /* QMPIX_stack.below, writable */

/* [tool_id]: the argument of qmpi_chain_add; all members are 0 until the layer is added. */
static struct qmpi_chain_layer layers[QMPI_LAYERS_MAX + 1];

static struct qmpi_chain_checks checks; /* .functions is NULL: nothing is checked */

_Static_assert(offsetof(struct QMPIX_Node, function) == QMPI_NODE_FUNCTION &&
                   offsetof(struct QMPIX_Node, tool_id) == QMPI_NODE_TOOL_ID &&
                   offsetof(struct qmpi_node, mpich_function) == QMPI_NODE_MPICH_FUNCTION,
               "the assembly code has other offsets");

/* Release order: a concurrent reader must see a complete node. */
static void store_node(qmpi_node_pointer *place, QMPI_Context node)
{
    atomic_store_explicit(place, node, memory_order_release);
}

static void set_head(int number, QMPI_Context node)
{
    const struct qmpi_node_trampoline *trampoline = qmpi_node_of(node)->trampoline;
    if (trampoline)
        atomic_store_explicit(&qmpi_node_trampolines[number], trampoline, memory_order_release);
    store_node(&qmpi_heads[number], node);
}

void qmpi_chain_start(int count)
{
    memcpy(qmpi_terminator_targets, qmpi_pmpi_functions, sizeof qmpi_terminator_targets);
    memcpy(qmpi_pmpi_targets, qmpi_pmpi_functions, sizeof qmpi_pmpi_targets);
    struct qmpi_node *nodes = qmpi_memory_permanent(QMPI_FUNCTION_COUNT, sizeof *nodes);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!qmpi_dispatch_functions[number].terminator)
            continue;
        nodes[number].node.function = qmpi_dispatch_functions[number].terminator;
        nodes[number].node.function_id = number;
        nodes[number].mpich_function = qmpi_dispatch_mpich_functions[number].terminator;
        terminator_row[number] = &nodes[number].node;
        store_node(&qmpi_heads[number], terminator_row[number]);
    }
    for (int tool_id = 0; tool_id <= QMPI_LAYERS_MAX + 1; tool_id++)
        qmpi_node_rows[tool_id] = terminator_row;
    for (int tool_id = 0; tool_id <= count; tool_id++)
        qmpi_next_rows[tool_id] = null_row;
    qmpi_next_row_count = (unsigned)count + 1;
    qmpi_node_rows[1] = (const QMPI_Context *)(uintptr_t)qmpi_heads;
    below_rows = qmpi_allocate((size_t)count + 1, sizeof *below_rows);
    QMPIX_stack.below = (const QMPI_Context *const *)below_rows;
    QMPIX_stack.functions = QMPI_FUNCTION_COUNT;
    QMPIX_stack.layers = count;
}

/* Returns the index of the layer's row in qmpi_fixed_rows; -1: it has none. */
static int find_fixed_row(int tool_id)
{
    const int depth = QMPIX_stack.layers - tool_id;
    return !checks.functions && tool_id > 1 && depth < QMPI_FIXED_ROWS ? depth : -1;
}

/* Nodes are allocated in blocks, because a layer may intercept hundreds of functions. */
enum { BLOCK = 128 };

struct block {
    struct qmpi_node *nodes;
    struct block *next;
};

/* All blocks; used only if layers are checked. The thread that builds the stack or switches a layer
 * adds blocks with release order. Other threads load the head of this list with acquire order. */
static struct block *blocks;

static struct qmpi_node *unused_node, *unused_end; /* of the current block */

/* A function of its own, so that new_node remains small enough to be inlined into the loops of
 * start-up. */
__attribute__((noinline)) static void add_block(void)
{
    unused_node = qmpi_memory_permanent(BLOCK, sizeof *unused_node);
    unused_end = unused_node + BLOCK;
    if (!checks.functions)
        return;
    struct block *block = qmpi_memory_permanent(1, sizeof *block);
    *block = (struct block){unused_node, blocks};
    __atomic_store_n(&blocks, block, __ATOMIC_RELEASE);
}

static inline struct qmpi_node *new_node(void)
{
    if (unused_node == unused_end)
        add_block();
    return unused_node++;
}

static bool has_interceptor(const struct qmpi_chain_layer *layer, int number)
{
    return (layer->functions && layer->functions[number]) ||
           (layer->mpich && layer->mpich[number]) || (layer->observing && layer->observing[number]);
}

bool qmpi_chain_intercepts(int tool_id, int number)
{
    return has_interceptor(&layers[tool_id], number);
}

enum node_kind { NODE_QMPI, NODE_MPICH, NODE_OBSERVER, NODE_PMPI };

/* Inlining gives each kind of node a loop of its own, because start-up creates thousands of
 * nodes. */
#define IN_LOOP static inline __attribute__((always_inline))

IN_LOOP void complete_node(struct qmpi_node *node, enum node_kind kind, qmpi_function *function,
                           int fixed_row)
{
    const int number = node->node.function_id;
    const struct qmpi_dispatch_mpich_functions *functions = &qmpi_dispatch_mpich_functions[number];
    node->mpich_function = fixed_row < 0 ? functions->through : functions->fixed[fixed_row];
    node->node.function = function;
    if (kind == NODE_MPICH) {
        node->node.function = functions->into;
        node->mpich_function = function;
    } else if (kind == NODE_PMPI) {
        node->node.function = qmpi_dispatch_functions[number].pmpi_adapter;
        node->node.data = (const void *)(uintptr_t)function;
    }
}

IN_LOOP QMPI_Context insert_node(int tool_id, int number, enum node_kind kind,
                                 qmpi_function *function, int fixed_row, QMPI_Context next)
{
    struct qmpi_node *next_node = qmpi_node_of(next);
    for (struct qmpi_node *node = next_node->above; node; node = node->same) {
        /* A node of a QMPI layer may have an older function, which a later registration has
         * replaced. */
        if (node->node.tool_id == tool_id && (kind != NODE_QMPI || node->node.function == function))
            return &node->node;
    }
    struct qmpi_node *node = new_node();
    node->node.next = next;
    node->node.tool_id = tool_id;
    node->node.function_id = number;
    complete_node(node, kind, function, fixed_row);
    if (kind == NODE_OBSERVER)
        layers[tool_id].observe(node);
    /* This comes last: if memory is exhausted in `observe`, a later attempt must not find an
     * incomplete node. */
    node->same = next_node->above;
    next_node->above = node;
    return &node->node;
}

/* ---- Nodes that check layers ----------------------------------------------------------------- */

void qmpi_chain_check(const struct qmpi_chain_checks *wanted)
{
    checks = *wanted;
}

const void *qmpi_chain_observer(QMPI_Context context)
{
    const uintptr_t address = (uintptr_t)context;
    const struct block *block = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE);
    for (; block; block = block->next) {
        const uintptr_t offset = address - (uintptr_t)block->nodes;
        if (offset < BLOCK * sizeof *block->nodes)
            return offset % sizeof *block->nodes ? NULL : qmpi_node_of(context)->observer;
    }
    return NULL;
}

/* Returns the node of this kind that checks a layer, above `next`. */
static QMPI_Context insert_check(int tool_id, int number, enum qmpi_chain_check kind,
                                 QMPI_Context next)
{
    const void *const observer = checks.observers[tool_id][kind];
    struct qmpi_node *next_node = qmpi_node_of(next);
    for (struct qmpi_node *node = next_node->above; node; node = node->same) {
        if (node->observer == observer)
            return &node->node;
    }
    struct qmpi_node *node = new_node();
    node->node.next = next;
    node->node.tool_id = tool_id;
    node->node.function_id = number;
    node->node.function = (kind == QMPI_CHECK_BELOW ? checks.below : checks.functions)[number];
    /* A layer of MPICH's variant gets this function and its own tool_id from QMPI_Get_function, and
     * passes this tool_id to the function, which finds the node by it. */
    node->mpich_function = qmpi_dispatch_mpich_functions[number].through;
    node->observer = observer;
    node->same = next_node->above;
    next_node->above = node;
    return &node->node;
}

/* Sets the observer of each node of the layer itself that has none, and returns the node that
 * checks the layer from above. `top` is the topmost node of the layer. */
static QMPI_Context check_above(int tool_id, int number, QMPI_Context top)
{
    struct qmpi_node *node = qmpi_node_of(top);
    for (; node->node.tool_id == tool_id; node = qmpi_node_of(node->node.next)) {
        if (!node->observer)
            node->observer = checks.observers[tool_id][QMPI_CHECK_OWN];
    }
    return insert_check(tool_id, number, QMPI_CHECK_ABOVE, top);
}

QMPI_Context qmpi_chain_join(int tool_id, int number, QMPI_Context rest)
{
    return checks.functions && tool_id ? insert_check(tool_id, number, QMPI_CHECK_BELOW, rest)
                                       : rest;
}

QMPI_Context qmpi_chain_rest(int tool_id, int number)
{
    const QMPI_Context next = qmpi_chain_next(tool_id, number);
    return checks.functions && next ? next->next : next;
}

void qmpi_chain_expose(int tool_id)
{
    const int fixed_row = find_fixed_row(tool_id + 1);
    QMPI_Context *row = fixed_row < 0 ? qmpi_memory_permanent(QMPI_FUNCTION_COUNT, sizeof *row)
                                      : qmpi_fixed_rows[fixed_row];
    memcpy(row, qmpi_heads, sizeof qmpi_heads); /* only this thread changes them during start-up */
    for (int number = 0; checks.functions && number < QMPI_FUNCTION_COUNT; number++)
        row[number] = row[number] ? qmpi_chain_join(tool_id, number, row[number]) : NULL;
    /* Threads of tools that were loaded earlier may already read these pointers. QMPI_Get_function
     * dereferences the pointer that it has loaded; this dependency orders its loads as acquire
     * would. */
    __atomic_store_n(&below_rows[tool_id], row, __ATOMIC_RELEASE);
    /* If layers are checked, a layer of MPICH's variant uses its own tool_id to reach the nodes
     * below it; otherwise, it uses the next tool_id. */
    __atomic_store_n(&qmpi_node_rows[tool_id + !checks.functions], row, __ATOMIC_RELEASE);
    __atomic_store_n(&qmpi_next_rows[tool_id], row, __ATOMIC_RELEASE);
}

/* ---- Nodes of layers ------------------------------------------------------------------------- */

QMPI_Context qmpi_chain_insert(int tool_id, int number, QMPI_Context next)
{
    const struct qmpi_chain_layer *layer = &layers[tool_id];
    const int fixed_row = find_fixed_row(tool_id);
    next = qmpi_chain_join(tool_id, number, next);
    if (layer->functions[number])
        next = insert_node(tool_id, number, layer->pmpi_tool ? NODE_PMPI : NODE_QMPI,
                           layer->functions[number], fixed_row, next);
    else if (layer->mpich && layer->mpich[number])
        next = insert_node(tool_id, number, NODE_MPICH, layer->mpich[number], fixed_row, next);
    if (layer->observing && layer->observing[number])
        next =
            insert_node(tool_id, number, NODE_OBSERVER, layer->observing[number], fixed_row, next);
    return checks.functions ? check_above(tool_id, number, next) : next;
}

QMPI_Context qmpi_chain_next(int tool_id, int number)
{
    return __atomic_load_n(&below_rows[tool_id][number], __ATOMIC_ACQUIRE);
}

/* Adds a node on top of the chain of each of `functions`; a head is NULL if this MPI lacks the
 * function. */
IN_LOOP void add_nodes(int tool_id, enum node_kind kind, qmpi_function *const *functions)
{
    const int fixed_row = find_fixed_row(tool_id);
    for (int number = 0; functions && number < QMPI_FUNCTION_COUNT; number++) {
        const QMPI_Context head = atomic_load_explicit(&qmpi_heads[number], memory_order_relaxed);
        if (!functions[number] || !head)
            continue;
        const QMPI_Context node =
            insert_node(tool_id, number, kind, functions[number], fixed_row, head);
        if (kind != NODE_PMPI)
            store_node(&qmpi_topmost_qmpi_nodes[number], node);
        if (kind == NODE_OBSERVER)
            set_head(number, node);
        else
            store_node(&qmpi_heads[number], node);
    }
}

/* Adds the nodes that check a layer: below its own nodes, which are added afterwards, or above
 * them. */
static void add_checks(int tool_id, const struct qmpi_chain_layer *layer, bool above)
{
    for (int number = 0; checks.functions && number < QMPI_FUNCTION_COUNT; number++) {
        if (!qmpi_heads[number] || !has_interceptor(layer, number))
            continue;
        const QMPI_Context head = qmpi_heads[number];
        const QMPI_Context node =
            above ? check_above(tool_id, number, head) : qmpi_chain_join(tool_id, number, head);
        store_node(&qmpi_topmost_qmpi_nodes[number], node);
        store_node(&qmpi_heads[number], node);
    }
}

static void add_interceptors(int tool_id, const struct qmpi_chain_layer *layer)
{
    if (layer->pmpi_tool)
        add_nodes(tool_id, NODE_PMPI, layer->functions);
    else
        add_nodes(tool_id, NODE_QMPI, layer->functions);
    add_nodes(tool_id, NODE_MPICH, layer->mpich);
    add_nodes(tool_id, NODE_OBSERVER, layer->observing);
}

/* Copies to `selected` those of `functions` for which the layer is on at first, and returns
 * `selected`. If `functions` is NULL, returns NULL. */
static qmpi_function *const *filter_started(int tool_id, qmpi_function *const *functions,
                                            qmpi_function **selected)
{
    bool (*const starts)(int, int) = layers[tool_id].starts;
    for (int number = 0; functions && number < QMPI_FUNCTION_COUNT; number++)
        selected[number] = starts(tool_id, number) ? functions[number] : NULL;
    return functions ? selected : NULL;
}

void qmpi_chain_add(int tool_id, const struct qmpi_chain_layer *layer)
{
    qmpi_function *functions[QMPI_FUNCTION_COUNT], *mpich[QMPI_FUNCTION_COUNT],
        *observing[QMPI_FUNCTION_COUNT];
    struct qmpi_chain_layer started = *layer;
    layers[tool_id] = *layer;
    if (layer->starts) {
        started.functions = filter_started(tool_id, layer->functions, functions);
        started.mpich = filter_started(tool_id, layer->mpich, mpich);
        started.observing = filter_started(tool_id, layer->observing, observing);
    }
    add_checks(tool_id, &started, false);
    add_interceptors(tool_id, &started);
    add_checks(tool_id, &started, true);
    if (!qmpi_message_debugs(QMPI_TOPIC_CHAIN))
        return;
    int count = 0;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++)
        count += qmpi_heads[number] && qmpi_chain_intercepts(tool_id, number);
    qmpi_debug(QMPI_TOPIC_CHAIN, "layer %d intercepts %d functions", tool_id, count);
}

qmpi_function *qmpi_chain_plain(QMPI_Context node)
{
    return node->next ? (qmpi_function *)(uintptr_t)node->data
                      : qmpi_terminator_targets[node->function_id];
}

/*
 * Returns the function to which the entry point MPI_X jumps. If no layer intercepts X, it is the
 * function that the terminator would call; if a PMPI layer is on top, it is MPI_X of its tool,
 * without a frame in between, so that tools that walk the stack see the call site. A QMPI layer on
 * top needs a context, which a trampoline adds: enter_MPI_X, or that of an observer (observe_N.c)
 * or of MPICH's variant (mpich_N.c).
 */
static inline qmpi_function *target_of(int number)
{
    const QMPI_Context head = atomic_load_explicit(&qmpi_heads[number], memory_order_acquire);
    qmpi_function *plain =
        head->next ? (qmpi_function *)(uintptr_t)head->data : qmpi_terminator_targets[number];
    if (plain)
        return plain;
    if (qmpi_node_of(head)->trampoline)
        return qmpi_node_of(head)->trampoline->function;
    return head->function == qmpi_dispatch_mpich_functions[number].into
               ? qmpi_dispatch_mpich_functions[number].trampoline
               : qmpi_dispatch_functions[number].trampoline;
}

qmpi_function *qmpi_chain_target(int number)
{
    return target_of(number);
}

/* Entry points load the slot with relaxed order. The preceding call of qmpi_barrier_publish makes
 * the data that the target reads visible to them: the first node, the topmost QMPI node, the
 * trampoline, and the data of the tool. */
static inline void set_slot(int number)
{
    __atomic_store_n(&qmpi_slots[number], target_of(number), __ATOMIC_RELEASE);
}

void qmpi_chain_set_target(int number)
{
    set_slot(number);
}

static QMPI_Context find_topmost_qmpi_node(QMPI_Context node)
{
    while (node->data)
        node = node->next;
    return node->next ? node : NULL;
}

void qmpi_chain_set_topmost(int number, QMPI_Context head)
{
    store_node(&qmpi_topmost_qmpi_nodes[number], find_topmost_qmpi_node(head));
}

void qmpi_chain_set_next(int tool_id, int number, QMPI_Context node)
{
    if (tool_id)
        __atomic_store_n(&below_rows[tool_id][number], node, __ATOMIC_RELEASE);
    else
        set_head(number, node);
}

/* Stored with release order when all slots lead to the chains; a thread that loads it with acquire
 * order may then change chains. */
static bool is_active;

bool qmpi_chain_is_active(void)
{
    return __atomic_load_n(&is_active, __ATOMIC_ACQUIRE);
}

void qmpi_chain_activate(void)
{
    qmpi_barrier_publish();
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!qmpi_dispatch_functions[number].trampoline)
            continue;
        set_slot(number);
        __atomic_store_n(&qmpi_pmpi_slots[number], qmpi_pmpi_targets[number], __ATOMIC_RELEASE);
    }
    __atomic_store_n(&qmpi_next_rows[0], (const QMPI_Context *)(uintptr_t)qmpi_heads,
                     __ATOMIC_RELEASE);
    __atomic_store_n(&is_active, true, __ATOMIC_RELEASE);
}

void qmpi_chain_hold(void)
{
    pthread_mutex_lock(&switch_lock);
}

void qmpi_chain_release(void)
{
    pthread_mutex_unlock(&switch_lock);
}
