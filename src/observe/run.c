/* SPDX-License-Identifier: MIT */
/* See run.h. */
#include "observe/run.h"

#include "clock/clock.h"
#include "observe/observe.h"
#include "observe/semantics.h"
#include "util/util.h"

#include <string.h>

/* Flags for which even one layer is a run. */
enum { READS_CLOCK = QMPIX_OBSERVE_TIME | QMPIX_OBSERVE_ENTRY_TIME };

/* ---- What a run does in a call ----------------------------------------------------------------
 */

/* The time between the readings is that of the call: nothing of what the callbacks do may be moved
 * there. */
static inline uint64_t read_clock(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const uint64_t now = qmpi_clock_now();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return now;
}

/* Others may read it from another thread: see QMPIX_Call_get_begin_address. */
static inline void set_begin(struct qmpi_record *record, uint64_t ticks)
{
    __atomic_store_n(&record->begin, ticks, __ATOMIC_RELEASE);
}

/* Writes the context and the observer of a callback into the record, and calls it. */
static inline void call_one(struct qmpi_record *record, const struct qmpi_callback *callback)
{
    memcpy(&record->call.context, callback, offsetof(struct qmpi_callback, function));
    callback->function(&record->call, (QMPIX_Word *)(void *)((char *)record + callback->word));
}

static inline void call_all(struct qmpi_record *record, const struct qmpi_callbacks *callbacks)
{
    const char *const end = (const char *)callbacks->end;
    ptrdiff_t at = callbacks->size;
    do {
        call_one(record, (const struct qmpi_callback *)(const void *)(end + at));
        at += (ptrdiff_t)sizeof(struct qmpi_callback);
    } while (at);
}

/* The same in functions that complete requests, which only some layers have asked for. */
static void call_completing(struct qmpi_record *record, const struct qmpi_callbacks *callbacks)
{
    const MPI_Request *const requests = record->call.requests;
    const int request_count = record->call.request_count;
    ptrdiff_t i = callbacks->size / (ptrdiff_t)sizeof *callbacks->end;
    do {
        const struct qmpi_callback *callback = &callbacks->end[i];
        const bool wanted = callback->observer->flags & QMPIX_OBSERVE_REQUESTS;
        record->call.requests = wanted ? requests : NULL;
        record->call.request_count = wanted ? request_count : 0;
        call_one(record, callback);
    } while (++i);
    record->call.requests = requests;
    record->call.request_count = request_count;
}

/* Two words at a time: for memset, compilers use an instruction that takes longer than all
 * callbacks. The first word is clear. */
typedef long long two_words __attribute__((vector_size(16), aligned(8), may_alias));

static inline void clear_words(struct qmpi_record *record)
{
    for (int i = 0; i < QMPI_RUN_MAX; i += 2)
        *(two_words *)(record->words + i) = (two_words){0, 0};
}

static inline const struct qmpi_run *run_of(const QMPIX_Call *call)
{
    return (const struct qmpi_run *)call->observer;
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct qmpi_run *run = run_of(call);
    struct qmpi_record *record = qmpi_record_of(call);
    (void)word;
    clear_words(record);
    call_all(record, &run->before);
    record->call.observer = &run->observer;
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    call_all(qmpi_record_of(call), &run_of(call)->after);
}

static void before_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct qmpi_record *record = qmpi_record_of(call);
    set_begin(record, 0);
    before(call, word);
    set_begin(record, read_clock());
}

static void after_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    qmpi_record_of(call)->end = read_clock();
    after(call, word);
}

/* The same for one layer: its context is in the record, and the observer has its data. */
static void before_one_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct qmpi_record *record = qmpi_record_of(call);
    set_begin(record, 0);
    run_of(call)->before.end[-1].function(call, word);
    set_begin(record, read_clock());
}

static void after_one_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    qmpi_record_of(call)->end = read_clock();
    run_of(call)->after.end[-1].function(call, word);
}

/* Whatever the layers need. */
static void before_any(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct qmpi_run *run = run_of(call);
    struct qmpi_record *record = qmpi_record_of(call);
    const bool completes = qmpi_meaning_of(call)->shape == QMPI_SHAPE_COMPLETE;
    (void)word;
    clear_words(record);
    set_begin(record, 0);
    if (run->observer.flags & QMPIX_OBSERVE_ENTRY_TIME)
        record->entry = read_clock();
    (completes ? call_completing : call_all)(record, &run->before);
    record->call.observer = &run->observer;
    if (run->observer.flags & QMPIX_OBSERVE_TIME)
        set_begin(record, read_clock());
}

static void after_any(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct qmpi_run *run = run_of(call);
    struct qmpi_record *record = qmpi_record_of(call);
    const bool completes = qmpi_meaning_of(call)->shape == QMPI_SHAPE_COMPLETE;
    (void)word;
    if (run->observer.flags & QMPIX_OBSERVE_TIME)
        record->end = read_clock();
    (completes ? call_completing : call_all)(record, &run->after);
}

static void choose_callbacks(struct qmpi_run *run, int number)
{
    const bool timed = run->observer.flags & QMPIX_OBSERVE_TIME;
    const bool one = run->layers == 1;
    const bool completes = !one && qmpi_meanings[number].shape == QMPI_SHAPE_COMPLETE;
    if (completes || run->observer.flags & QMPIX_OBSERVE_ENTRY_TIME) {
        run->observer.before = before_any;
        run->observer.after = after_any;
    } else if (timed) {
        run->observer.before = one ? before_one_timed : before_timed;
        run->observer.after = one ? after_one_timed : after_timed;
    } else {
        run->observer.before = before;
        run->observer.after = after;
    }
}

/* ---- How a run is made ------------------------------------------------------------------------
 */

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
    struct qmpi_callback callback = {.context = node,
                                     .observer = observer,
                                     .word = offsetof(struct qmpi_record, words) +
                                             (size_t)run->layers * sizeof(QMPIX_Word)};
    const ptrdiff_t size = sizeof callback;
    reserve_memory(run);
    struct qmpi_run_memory *memory = run->memory;
    struct qmpi_callback *middle = memory->callbacks + memory->capacity;
    run->layers++;
    run->observer.flags |= observer->flags & ~(wanted ? 0U : READS_CLOCK);
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

/* What the node points to: the layer's own observer if that is enough, otherwise a run. */
static const QMPIX_Observer *choose_observer(QMPI_Context node, bool combines)
{
    const QMPIX_Observer *observer = observer_of_layer(node);
    const bool wanted = qmpi_observe_wanted(node->tool_id, node->function_id);
    if (!combines && wanted && !(observer->flags & READS_CLOCK))
        return observer;
    struct qmpi_run *run = qmpi_permanent_alloc(1, sizeof *run);
    const struct qmpi_run *lower = combines ? run_of_node(node->next) : NULL;
    if (lower)
        *run = *lower;
    else if (combines)
        add_layer(run, node->next);
    else
        run->observer.data = observer->data;
    add_layer(run, node);
    choose_callbacks(run, node->function_id);
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
