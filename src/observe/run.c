/* SPDX-License-Identifier: MIT */
/* See run.h: how a run is made. */
#include "observe/run.h"

#include "observe/observe.h"
#include "observe/semantics.h"
#include "util/util.h"

#include <string.h>

/* Flags for which even one layer is a run. */
enum { READS_CLOCK = QMPIX_OBSERVE_TIME | QMPIX_OBSERVE_ENTRY_TIME };

/*
 * The callbacks of runs that lie above each other: each run adds its top layer to those of the
 * run below, so that all share the memory. A layer that is switched makes another run of the
 * same layers below; it gets memory of its own.
 */
struct qmpi_run_memory {
    size_t capacity;                  /* of each */
    size_t used_before, used_after;   /* `before` from the end, `after` from the beginning */
    struct qmpi_callback callbacks[]; /* `before` of `capacity` layers, then `after` */
};

/* [tool_id]: the nodes that were made, and those of them that are in a run with the next one. */
static int made[QMPI_LAYERS_MAX + 1], combined[QMPI_LAYERS_MAX + 1];

static const QMPIX_Observer *observer_of_layer(QMPI_Context node)
{
    return &qmpi_observers[node->tool_id];
}

/* NULL: the node is that of one observer. */
static const struct qmpi_run *run_of_node(QMPI_Context node)
{
    const QMPIX_Observer *observer = qmpi_observer_of(node);
    return observer == observer_of_layer(node) ? NULL : (const struct qmpi_run *)observer;
}

static bool is_observer(QMPI_Context node)
{
    return node->function == qmpi_observing[node->function_id];
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
    const size_t layers = (size_t)QMPIX_stack.layers;
    const size_t capacity = layers < QMPI_RUN_MAX ? layers : QMPI_RUN_MAX;
    struct qmpi_run_memory *memory =
        qmpi_permanent_alloc(1, sizeof *memory + 2 * capacity * sizeof *memory->callbacks);
    memory->capacity = capacity;
    return memory;
}

/* The callbacks of `run` in memory in which it is the run that was added last. */
static void reserve_memory(struct qmpi_run *run)
{
    struct qmpi_run_memory *memory = run->memory;
    const size_t before = run->before.count, after = run->after.count;
    if (!memory || memory->used_before != before || memory->used_after != after) {
        memory = new_memory();
        struct qmpi_callback *middle = memory->callbacks + memory->capacity;
        if (before)
            memcpy(middle - before, run->before.end - before, before * sizeof *middle);
        if (after)
            memcpy(middle, run->after.end - after, after * sizeof *middle);
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
    struct qmpi_callback callback = {.context = node,
                                     .observer = observer,
                                     .word = offsetof(struct qmpi_record, words) +
                                             (size_t)run->layers * sizeof(QMPIX_Word)};
    reserve_memory(run);
    struct qmpi_run_memory *memory = run->memory;
    struct qmpi_callback *middle = memory->callbacks + memory->capacity;
    run->layers++;
    run->observer.flags |= observer->flags & ~(wanted ? 0U : READS_CLOCK);
    callback.function = wanted ? observer->before : qmpi_observe_nothing;
    if (first || callback.function != qmpi_observe_nothing) {
        *(middle - ++memory->used_before) = callback;
        run->before.count++;
    }
    callback.function = wanted ? observer->after : qmpi_observe_nothing;
    if (first || callback.function != qmpi_observe_nothing) {
        middle[memory->used_after++] = callback;
        run->after.end++;
        run->after.count++;
    }
}

static void set_head(struct qmpi_node *node)
{
    const int number = node->node.function_id;
    struct qmpi_observing_head *head = qmpi_permanent_alloc(1, sizeof *head);
    *head = (struct qmpi_observing_head){.head = {qmpi_observing_first[number]},
                                         .function = &qmpi_described[number],
                                         .context = &node->node,
                                         .observer = node->observer};
    node->head = &head->head;
}

/* Returns the run of the layer of `node` alone. If it leaves the context in the record as it is,
 * all functions have the same one. */
static const struct qmpi_run *run_of_one(QMPI_Context node, bool wanted)
{
    static const struct qmpi_run *shared[QMPI_LAYERS_MAX + 1]; /* [tool_id] */
    const QMPIX_Observer *observer = observer_of_layer(node);
    const bool shares = wanted && !(observer->flags & QMPIX_OBSERVE_ENTRY_TIME);
    if (shares && shared[node->tool_id])
        return shared[node->tool_id];
    struct qmpi_run *run = qmpi_permanent_alloc(1, sizeof *run);
    run->observer = *observer; /* the only layer's callbacks receive this one */
    run->observer.flags = 0;
    add_layer(run, node);
    qmpi_run_choose_callbacks(run, node->function_id);
    if (shares)
        shared[node->tool_id] = run;
    return run;
}

/* What the node points to: the layer's own observer if that is enough, otherwise a run. */
static const QMPIX_Observer *choose_observer(QMPI_Context node, bool combines)
{
    const QMPIX_Observer *observer = observer_of_layer(node);
    const bool wanted = qmpi_observe_wanted(node->tool_id, node->function_id);
    if (!combines && wanted && !(observer->flags & READS_CLOCK))
        return observer;
    if (!combines)
        return &run_of_one(node, wanted)->observer;
    struct qmpi_run *run = qmpi_permanent_alloc(1, sizeof *run);
    const struct qmpi_run *lower = run_of_node(node->next);
    if (lower && lower->layers > 1)
        *run = *lower;
    else
        add_layer(run, node->next);
    add_layer(run, node);
    qmpi_run_choose_callbacks(run, node->function_id);
    return &run->observer;
}

void qmpi_observe_node(struct qmpi_node *node)
{
    const QMPI_Context context = &node->node;
    const bool combines = can_combine(context, context->next);
    made[context->tool_id]++;
    combined[context->tool_id] += combines;
    node->observer = choose_observer(context, combines);
    set_head(node);
}

void qmpi_observe_report(int tool_id)
{
    if (made[tool_id])
        qmpi_debug(QMPI_TOPIC_CHAIN,
                   "layer %d observes %d functions, %d of them in a run with the layer below",
                   tool_id, made[tool_id], combined[tool_id]);
}
