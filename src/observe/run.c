/* SPDX-License-Identifier: MIT */
/* See run.h. */
#include "observe/run.h"

#include "observe/observe.h"
#include "observe/semantics.h"
#include "util/util.h"

/*
 * The callbacks of runs that lie above each other: each run adds its top layer to those of the run
 * below, so that all share the memory. A layer that is switched makes another run of the same
 * layers below; it gets memory of its own.
 */
struct qmpi_run_memory {
    int capacity;                     /* of each */
    int used_before, used_after;      /* `before` from the end, `after` from the beginning */
    struct qmpi_callback callbacks[]; /* `before` of `capacity` layers, then `after` */
};

/* [tool_id]: the nodes that were made, and those of them that are in a run with the next one. */
static int made[QMPI_LAYERS_MAX + 1], combined[QMPI_LAYERS_MAX + 1];

static const QMPIX_Observer *observer_of_layer(QMPI_Context node)
{
    return &qmpi_observers[node->tool_id];
}

static const struct qmpi_run *run_of_node(QMPI_Context node)
{
    return node->function == qmpi_observing_runs[node->function_id]
               ? qmpi_run_of(qmpi_observer_of(node))
               : NULL;
}

static bool is_observer(QMPI_Context node)
{
    return node->function == qmpi_observing[node->function_id] || run_of_node(node);
}

static int layers_of(QMPI_Context node)
{
    const struct qmpi_run *run = run_of_node(node);
    return run ? run->layers : 1;
}

/* Whether the layer of `node` can be in one run with the layers at `next`, and its run. */
static bool can_combine(QMPI_Context node, QMPI_Context next)
{
    if (!is_observer(next) || layers_of(next) == QMPI_RUN_MAX)
        return false;
    const struct qmpi_meaning *meaning = &qmpi_meanings[node->function_id];
    const unsigned lower = qmpi_observer_of(next)->flags, upper = observer_of_layer(node)->flags;
    if (lower & QMPIX_OBSERVE_ACTS)
        return false;
    return !(meaning->status || meaning->statuses) || !(lower & QMPIX_OBSERVE_STATUSES) ||
           (upper & QMPIX_OBSERVE_STATUSES);
}

static struct qmpi_run_memory *new_memory(void)
{
    const int layers = QMPIX_stack.layers;
    const int capacity = layers < QMPI_RUN_MAX ? layers : QMPI_RUN_MAX;
    struct qmpi_run_memory *memory =
        qmpi_permanent_alloc(1, sizeof *memory + 2 * (size_t)capacity * sizeof *memory->callbacks);
    memory->capacity = capacity;
    return memory;
}

static int count(struct qmpi_callbacks callbacks)
{
    return (int)(-callbacks.size / (ptrdiff_t)sizeof(struct qmpi_callback));
}

/* The callbacks of `run` in memory in which it is the run that was added last. */
static void reserve_memory(struct qmpi_run *run)
{
    struct qmpi_run_memory *memory = run->memory;
    const int before = count(run->before), after = count(run->after);
    if (!memory || memory->used_before != before || memory->used_after != after) {
        memory = new_memory();
        struct qmpi_callback *middle = memory->callbacks + memory->capacity;
        if (before)
            memcpy(middle - before, run->before.end - before, (size_t)before * sizeof *middle);
        if (after)
            memcpy(middle, run->after.end - after, (size_t)after * sizeof *middle);
        memory->used_before = before;
        memory->used_after = after;
        run->memory = memory;
    }
    run->before.end = memory->callbacks + memory->capacity;
    run->after.end = run->before.end + after;
}

/* Puts a layer on top of `run`; the first one has both callbacks, so that there is one of each. */
static void add_layer(struct qmpi_run *run, QMPI_Context node)
{
    const QMPIX_Observer *observer = observer_of_layer(node);
    const bool wanted = qmpi_observe_wanted(node->tool_id, node->function_id);
    const bool first = !run->layers;
    struct qmpi_callback callback = {
        .context = node, .observer = observer, .word = (size_t)run->layers * sizeof(QMPIX_Word)};
    const ptrdiff_t size = sizeof callback;
    reserve_memory(run);
    struct qmpi_run_memory *memory = run->memory;
    struct qmpi_callback *middle = memory->callbacks + memory->capacity;
    run->layers++;
    run->observer.flags |= observer->flags;
    callback.function = wanted ? observer->before : qmpi_observe_nothing;
    if (first || callback.function != qmpi_observe_nothing) {
        middle[-++memory->used_before] = callback;
        run->before.size -= size;
    }
    callback.function = wanted ? observer->after : qmpi_observe_nothing;
    if (first || callback.function != qmpi_observe_nothing) {
        middle[memory->used_after++] = callback;
        run->after.end++;
        run->after.size -= size;
    }
}

void qmpi_observe_node(struct qmpi_node *node)
{
    const QMPI_Context context = &node->node;
    const bool combines = can_combine(context, context->next);
    made[context->tool_id]++;
    combined[context->tool_id] += combines;
    if (!combines && qmpi_observe_wanted(context->tool_id, context->function_id)) {
        node->observer = observer_of_layer(context);
        return;
    }
    struct qmpi_run *run = qmpi_permanent_alloc(1, sizeof *run);
    const struct qmpi_run *lower = combines ? run_of_node(context->next) : NULL;
    run->next = context->next;
    if (lower) {
        *run = *lower;
    } else if (combines) {
        run->next = context->next->next;
        add_layer(run, context->next);
    }
    add_layer(run, context);
    node->observer = &run->observer;
    node->node.function = qmpi_observing_runs[context->function_id];
}

void qmpi_observe_report(int tool_id)
{
    if (made[tool_id])
        qmpi_debug(QMPI_TOPIC_CHAIN,
                   "layer %d observes %d functions, %d of them in a run with the layer below",
                   tool_id, made[tool_id], combined[tool_id]);
}

void qmpi_run_completing(const struct qmpi_callbacks *callbacks, QMPIX_Call *call,
                         QMPIX_Word *words)
{
    const MPI_Request *const requests = call->requests;
    const int request_count = call->request_count;
    ptrdiff_t at = callbacks->size;
    do {
        const struct qmpi_callback *callback = qmpi_run_set(call, callbacks->end, at);
        const bool wanted = callback->observer->flags & QMPIX_OBSERVE_REQUESTS;
        call->requests = wanted ? requests : NULL;
        call->request_count = wanted ? request_count : 0;
        callback->function(call, (QMPIX_Word *)((char *)words + callback->word));
        at += (ptrdiff_t)sizeof *callback;
    } while (at);
    call->requests = requests;
    call->request_count = request_count;
}
