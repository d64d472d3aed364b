/* SPDX-License-Identifier: MIT */
/* See chain.h. */
#include "dispatch/chain.h"

#include "dispatch/arch/node.h"
#include "dispatch/mpich_convention.h"
#include "util/util.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

_Thread_local const void *qmpi_entry_frame, *qmpi_jumped_frame;
qmpi_atomic_context qmpi_heads[QMPI_FUNCTION_COUNT];
_Atomic(const struct qmpi_merged_head *) qmpi_merged_heads[QMPI_FUNCTION_COUNT];
qmpi_atomic_context qmpi_first_natives[QMPI_FUNCTION_COUNT];

qmpi_function *qmpi_terminators[QMPI_FUNCTION_COUNT];
qmpi_function *qmpi_pmpi_targets[QMPI_FUNCTION_COUNT];

/* Default visibility: the inline functions of <qmpi/qmpi.h> read it from inside tools. */
struct QMPIX_Stack QMPIX_stack;

QMPI_LOCK(lock); /* of who switches layers, or must not have it happen */

static QMPI_Context base_row[QMPI_FUNCTION_COUNT];
const QMPI_Context *qmpi_chain_nodes[QMPI_LAYERS_MAX + 2];
QMPI_Context qmpi_chain_fast[QMPI_CHAIN_FAST][QMPI_FUNCTION_COUNT];
static const QMPI_Context no_row[QMPI_FUNCTION_COUNT];
unsigned qmpi_chain_height;
const QMPI_Context *qmpi_chain_nexts[QMPI_LAYERS_MAX + 1];
static QMPI_Context **node_table; /* QMPIX_stack.below, writable */

/* What each layer was put there with, by tool_id; without functions where it is not there yet. */
static struct qmpi_interceptors layers[QMPI_LAYERS_MAX + 1];

_Static_assert(offsetof(struct QMPIX_Node, function) == QMPI_NODE_FUNCTION &&
                   offsetof(struct QMPIX_Node, tool_id) == QMPI_NODE_TOOL_ID,
               "the assembly code knows other nodes");

struct qmpi_node *qmpi_node_of(QMPI_Context context)
{
    return (struct qmpi_node *)(uintptr_t)context;
}

/* In start-up, thousands of times: whoever reads along must see the node whole, no more. */
static void put(qmpi_atomic_context *place, QMPI_Context node)
{
    atomic_store_explicit(place, node, memory_order_release);
}

static void put_head(int number, QMPI_Context node)
{
    const struct qmpi_merged_head *merged = qmpi_node_of(node)->head;
    if (merged)
        atomic_store_explicit(&qmpi_merged_heads[number], merged, memory_order_release);
    put(&qmpi_heads[number], node);
}

void qmpi_chain_start(int count)
{
    memcpy(qmpi_terminators, qmpi_bases, sizeof qmpi_terminators);
    memcpy(qmpi_pmpi_targets, qmpi_bases, sizeof qmpi_pmpi_targets);
    struct qmpi_node *nodes = qmpi_permanent_alloc(QMPI_FUNCTION_COUNT, sizeof *nodes);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!qmpi_ends[number].base)
            continue;
        nodes[number].node.function = qmpi_ends[number].base;
        nodes[number].node.function_id = number;
        nodes[number].mpich_function = qmpi_mpich_terminators[number].base;
        base_row[number] = &nodes[number].node;
        put(&qmpi_heads[number], base_row[number]);
    }
    for (int tool_id = 0; tool_id <= QMPI_LAYERS_MAX + 1; tool_id++)
        qmpi_chain_nodes[tool_id] = base_row;
    for (int tool_id = 0; tool_id <= count; tool_id++)
        qmpi_chain_nexts[tool_id] = no_row;
    qmpi_chain_height = (unsigned)count + 1;
    qmpi_chain_nodes[1] = (const QMPI_Context *)(uintptr_t)qmpi_heads;
    node_table = qmpi_allocate((size_t)count + 1, sizeof *node_table);
    QMPIX_stack.below = (const QMPI_Context *const *)node_table;
    QMPIX_stack.functions = QMPI_FUNCTION_COUNT;
    QMPIX_stack.layers = count;
}

/* The layer's place in qmpi_chain_fast; -1: none. */
static int fast_place(int tool_id)
{
    const int depth = QMPIX_stack.layers - tool_id;
    return tool_id > 1 && depth < QMPI_CHAIN_FAST ? depth : -1;
}

void qmpi_chain_expose(int tool_id)
{
    const int fast = fast_place(tool_id + 1);
    QMPI_Context *row =
        fast < 0 ? qmpi_permanent_alloc(QMPI_FUNCTION_COUNT, sizeof *row) : qmpi_chain_fast[fast];
    memcpy(row, qmpi_heads, sizeof qmpi_heads); /* nobody else changes them during start-up */
    node_table[tool_id] = row;
    qmpi_chain_nodes[tool_id + 1] = row;
    qmpi_chain_nexts[tool_id] = row;
}

/* Many at a time: a layer may intercept all functions. */
static struct qmpi_node *new_node(void)
{
    enum { BLOCK = 128 };
    static struct qmpi_node *next, *end;
    if (next == end) {
        next = qmpi_permanent_alloc(BLOCK, sizeof *next);
        end = next + BLOCK;
    }
    return next++;
}

bool qmpi_chain_intercepts(int tool_id, int number)
{
    const struct qmpi_interceptors *layer = &layers[tool_id];
    return (layer->functions && layer->functions[number]) ||
           (layer->mpich && layer->mpich[number]) || (layer->observing && layer->observing[number]);
}

/* What a layer has for a function. */
enum kind { LAYER_QMPI, LAYER_MPICH, LAYER_OBSERVER, LAYER_PMPI };

/* Start-up comes here for each layer and function: each kind has a loop of its own. */
#define IN_LOOP static inline __attribute__((always_inline))

IN_LOOP void complete(struct qmpi_node *node, enum kind kind, qmpi_function *function, int fast)
{
    const int number = node->node.function_id;
    const struct qmpi_mpich_terminators *ends = &qmpi_mpich_terminators[number];
    node->mpich_function = fast < 0 ? ends->through : ends->fast[fast];
    node->node.function = function;
    if (kind == LAYER_MPICH) {
        node->node.function = ends->into;
        node->mpich_function = function;
    } else if (kind == LAYER_PMPI) {
        node->node.function = qmpi_ends[number].pmpi_tool;
        node->node.data = (const void *)(uintptr_t)function;
    }
}

IN_LOOP QMPI_Context insert(int tool_id, int number, enum kind kind, qmpi_function *function,
                            int fast, QMPI_Context next)
{
    struct qmpi_node *next_node = qmpi_node_of(next);
    for (struct qmpi_node *node = next_node->above; node; node = node->same) {
        if (node->node.tool_id == tool_id)
            return &node->node;
    }
    struct qmpi_node *node = new_node();
    node->node.next = next;
    node->node.tool_id = tool_id;
    node->node.function_id = number;
    node->same = next_node->above;
    next_node->above = node;
    complete(node, kind, function, fast);
    if (kind == LAYER_OBSERVER)
        layers[tool_id].observe(node);
    return &node->node;
}

QMPI_Context qmpi_chain_insert(int tool_id, int number, QMPI_Context next)
{
    const struct qmpi_interceptors *layer = &layers[tool_id];
    const int fast = fast_place(tool_id);
    if (layer->functions[number])
        next = insert(tool_id, number, layer->pmpi_tool ? LAYER_PMPI : LAYER_QMPI,
                      layer->functions[number], fast, next);
    else if (layer->mpich && layer->mpich[number])
        next = insert(tool_id, number, LAYER_MPICH, layer->mpich[number], fast, next);
    if (layer->observing && layer->observing[number])
        next = insert(tool_id, number, LAYER_OBSERVER, layer->observing[number], fast, next);
    return next;
}

QMPI_Context qmpi_chain_next(int tool_id, int number)
{
    return __atomic_load_n(&node_table[tool_id][number], __ATOMIC_ACQUIRE);
}

/* A NULL head: this MPI lacks the function. */
IN_LOOP void add_all(int tool_id, enum kind kind, qmpi_function *const *functions)
{
    const int fast = fast_place(tool_id);
    for (int number = 0; functions && number < QMPI_FUNCTION_COUNT; number++) {
        const QMPI_Context head = atomic_load_explicit(&qmpi_heads[number], memory_order_relaxed);
        if (!functions[number] || !head)
            continue;
        const QMPI_Context node = insert(tool_id, number, kind, functions[number], fast, head);
        if (kind != LAYER_PMPI)
            put(&qmpi_first_natives[number], node);
        if (kind == LAYER_OBSERVER)
            put_head(number, node);
        else
            put(&qmpi_heads[number], node);
    }
}

static void add_interceptors(int tool_id, const struct qmpi_interceptors *layer)
{
    if (layer->pmpi_tool)
        add_all(tool_id, LAYER_PMPI, layer->functions);
    else
        add_all(tool_id, LAYER_QMPI, layer->functions);
    add_all(tool_id, LAYER_MPICH, layer->mpich);
    add_all(tool_id, LAYER_OBSERVER, layer->observing);
}

/* Copies those of `functions` for which the layer is on at first. */
static qmpi_function *const *filter_started(int tool_id, qmpi_function *const *functions,
                                            qmpi_function **selected)
{
    bool (*const starts)(int, int) = layers[tool_id].starts;
    for (int number = 0; functions && number < QMPI_FUNCTION_COUNT; number++)
        selected[number] = starts(tool_id, number) ? functions[number] : NULL;
    return functions ? selected : NULL;
}

void qmpi_chain_add(int tool_id, const struct qmpi_interceptors *layer)
{
    qmpi_function *functions[QMPI_FUNCTION_COUNT], *mpich[QMPI_FUNCTION_COUNT],
        *observing[QMPI_FUNCTION_COUNT];
    struct qmpi_interceptors started = *layer;
    layers[tool_id] = *layer;
    if (layer->starts) {
        started.functions = filter_started(tool_id, layer->functions, functions);
        started.mpich = filter_started(tool_id, layer->mpich, mpich);
        started.observing = filter_started(tool_id, layer->observing, observing);
    }
    add_interceptors(tool_id, &started);
    if (!qmpi_debugs(QMPI_TOPIC_CHAIN))
        return;
    int count = 0;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++)
        count += qmpi_heads[number] && qmpi_chain_intercepts(tool_id, number);
    qmpi_debug(QMPI_TOPIC_CHAIN, "layer %d intercepts %d functions", tool_id, count);
}

qmpi_function *qmpi_chain_plain(QMPI_Context node)
{
    return node->next ? (qmpi_function *)(uintptr_t)node->data
                      : qmpi_terminators[node->function_id];
}

/* A PMPI tool on top is called by the program itself: tools that walk the stack see its call
 * site. */
static inline qmpi_function *target_of(int number)
{
    const QMPI_Context head = atomic_load_explicit(&qmpi_heads[number], memory_order_acquire);
    qmpi_function *plain =
        head->next ? (qmpi_function *)(uintptr_t)head->data : qmpi_terminators[number];
    if (plain)
        return plain;
    if (qmpi_node_of(head)->head)
        return qmpi_node_of(head)->head->enter;
    return head->function == qmpi_mpich_terminators[number].into
               ? qmpi_mpich_terminators[number].enter
               : qmpi_ends[number].enter;
}

qmpi_function *qmpi_chain_target(int number)
{
    return target_of(number);
}

static inline void set_slot(int number)
{
    __atomic_store_n(&qmpi_slots[number], target_of(number), __ATOMIC_RELEASE);
}

static QMPI_Context first_native(QMPI_Context node)
{
    while (node->data)
        node = node->next;
    return node->next ? node : NULL;
}

/* The first native node before the head: it must be known in the first call that comes this way. */
void qmpi_chain_set_next(int tool_id, int number, QMPI_Context node)
{
    if (tool_id) {
        __atomic_store_n(&node_table[tool_id][number], node, __ATOMIC_RELEASE);
        return;
    }
    atomic_store(&qmpi_first_natives[number], first_native(node));
    put_head(number, node);
    set_slot(number);
}

static bool published;

bool qmpi_chain_is_open(void)
{
    return __atomic_load_n(&published, __ATOMIC_ACQUIRE);
}

void qmpi_chain_publish(void)
{
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        if (!qmpi_ends[number].enter)
            continue;
        set_slot(number);
        __atomic_store_n(&qmpi_pmpi_slots[number], qmpi_pmpi_targets[number], __ATOMIC_RELEASE);
    }
    __atomic_store_n(&qmpi_chain_nexts[0], qmpi_chain_nodes[1], __ATOMIC_RELEASE);
    __atomic_store_n(&published, true, __ATOMIC_RELEASE);
}

void qmpi_chain_hold(void)
{
    pthread_mutex_lock(&lock);
}

void qmpi_chain_release(void)
{
    pthread_mutex_unlock(&lock);
}
