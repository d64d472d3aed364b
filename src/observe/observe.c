/* SPDX-License-Identifier: MIT */
/* See observe.h. */
#include "observe/observe.h"

#include "clock/clock.h"
#include "observe/comms.h"
#include "observe/semantics.h"
#include "registry/registry.h"
#include "util/util.h"

#include <qmpi/clock.h>
#include <string.h>

enum { ALL_GROUPS = 2 * QMPIX_GROUP_TOOL_INFORMATION - 1 };
enum { ALL_FLAGS = 2 * QMPIX_OBSERVE_COMMS - 1 };

QMPIX_Observer qmpi_observers[QMPI_LAYERS_MAX + 1];

/* [tool_id][number]: whether the observer requested the function. */
static unsigned char *wanted_functions[QMPI_LAYERS_MAX + 1];

/* [tool_id]: whether the layer requested the offsets of clocks, which are measured before
 * MPI_Finalize. */
static bool wants_offsets[QMPI_LAYERS_MAX + 1];

void qmpi_observe_nothing(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)call;
    (void)word;
}

static bool is_chosen(const QMPIX_Observer *observer, int number)
{
    if (!observer->groups && !observer->function_count)
        return true;
    if (qmpi_described[number].group & observer->groups)
        return true;
    for (int i = 0; i < observer->function_count; i++) {
        if ((int)observer->functions[i] == number)
            return true;
    }
    return false;
}

/* Some functions are also observed for the sake of others; returns the shape of these others. For
 * example, the call that creates a persistent request describes the operation that MPI_Start
 * starts, and MPI_Mrecv depends on the probe in the same way. */
static unsigned serves(int number)
{
    if (qmpi_meanings[number].shape == QMPI_SHAPE_MATCHED_PROBE)
        return QMPI_SHAPE_MATCHED_RECEIVE;
    if (qmpi_semantics_has(&qmpi_meanings[number], QMPIX_TRAIT_PERSISTENT) ||
        qmpi_meanings[number].role == QMPIX_ROLE_REQUEST_FREE)
        return QMPI_SHAPE_START;
    return QMPI_SHAPE_NONE;
}

static bool is_valid_observer(const QMPIX_Observer *observer)
{
    if (!observer || observer->size < sizeof *observer || observer->function_count < 0 ||
        (observer->function_count && !observer->functions) || observer->groups & ~ALL_GROUPS ||
        observer->flags & ~(unsigned)ALL_FLAGS)
        return false;
    for (int i = 0; i < observer->function_count; i++) {
        if ((unsigned)observer->functions[i] >= QMPI_FUNCTION_COUNT)
            return false;
    }
    return true;
}

static void make_tables(struct qmpi_layer *layer)
{
    if (!wanted_functions[layer->tool_id])
        wanted_functions[layer->tool_id] = qmpi_memory_permanent(QMPI_FUNCTION_COUNT, 1);
    if (!layer->observing)
        layer->observing = qmpi_memory_permanent(QMPI_FUNCTION_COUNT, sizeof *layer->observing);
}

int QMPIX_Register_tool_observer(int tool_id, const QMPIX_Observer *observer)
{
    struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    const int error = qmpi_layer_check_registration(__func__, tool_id, is_valid_observer(observer));
    if (error != MPI_SUCCESS)
        return error;
    qmpi_semantics_describe_all();
    if (observer->flags & (QMPIX_OBSERVE_TIME | QMPIX_OBSERVE_ENTRY_TIME))
        qmpi_clock_start();
    if (observer->flags & QMPIX_OBSERVE_COMMS)
        qmpi_comm_id_asked = true;
    bool shapes[QMPI_SHAPE_COUNT] = {false}; /* the shapes of the requested functions */
    make_tables(layer);
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        wanted_functions[tool_id][number] = qmpi_observing[number] && is_chosen(observer, number);
        if (wanted_functions[tool_id][number])
            shapes[qmpi_meanings[number].shape] = true;
    }
    shapes[QMPI_SHAPE_NONE] = false;
    for (int number = 0; number < QMPI_FUNCTION_COUNT; number++) {
        const bool taken = wanted_functions[tool_id][number] ||
                           (qmpi_observing[number] && shapes[serves(number)]) ||
                           (wants_offsets[tool_id] && number == MPI_FINALIZE_T);
        layer->observing[number] = taken ? qmpi_observing[number] : NULL;
    }
    QMPIX_Observer *mine = &qmpi_observers[tool_id];
    *mine = *observer;
    mine->functions = NULL; /* the array belongs to the caller */
    mine->function_count = 0;
    if (!mine->before)
        mine->before = qmpi_observe_nothing;
    if (!mine->after)
        mine->after = qmpi_observe_nothing;
    return MPI_SUCCESS;
}

int QMPIX_Clock_request_offsets(int tool_id)
{
    struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    const int error = qmpi_layer_check_registration(__func__, tool_id, true);
    if (error != MPI_SUCCESS)
        return error;
    make_tables(layer);
    layer->observing[MPI_FINALIZE_T] = qmpi_observing[MPI_FINALIZE_T];
    wants_offsets[tool_id] = true;
    qmpi_clock_request_offsets();
    return QMPIX_Tool_keep_function(tool_id, MPI_FINALIZE_T);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/*
 * Runs: adjacent layers that only observe a function are called by one interceptor, observe_X of
 * the topmost of them, which creates one record for all. The order of the callbacks is that in
 * which the layers would call them: `before` from the top down, `after` from the bottom up.
 *
 * The node of the topmost layer points to an observer whose callbacks call those of all layers, and
 * read the clock if a layer asks for the time of the call: after the last `before` and ahead of the
 * first `after`. The callbacks leave the lowest layer's context in the record, from which observe_X
 * continues.
 *
 * Each layer still has a node, which its callbacks find as the context in the record. The `next` of
 * this node is the node of the next layer, so that the layers below see the calls that a callback
 * makes through its node. The node of a lower layer has as its observer the run that begins with
 * this layer. Nodes, and therefore runs, never change: switching a layer creates new nodes
 * (dispatch/chain.h).
 *
 * A run ends below a layer that also has an interceptor for the function, because its callbacks
 * surround the interceptor. It ends above a layer that
 *   - acts (QMPIX_OBSERVE_ACTS): the layers above see what it does
 *   - asks for statuses (QMPIX_OBSERVE_STATUSES) in a function that has one, if the layer above
 *     does not ask for them: the layers below may then get a status that the program did not pass.
 */

/* Whether the observer requested the function; some functions are intercepted only for internal
 * use. */
static bool is_requested(QMPI_Context node)
{
    return wanted_functions[node->tool_id][node->function_id];
}

/* With one of these flags, even a single layer is a run. */
enum { READS_CLOCK = QMPIX_OBSERVE_TIME | QMPIX_OBSERVE_ENTRY_TIME };

/* A callback of a layer. call_one copies the first two members to the members of these names in
 * QMPIX_Call. */
struct run_callback {
    QMPI_Context context;
    const QMPIX_Observer *observer;
    void (*function)(const QMPIX_Call *call, QMPIX_Word *word);
    size_t word; /* offset of the layer's word in the record, in bytes */
};

_Static_assert(offsetof(struct run_callback, function) ==
                   offsetof(QMPIX_Call, arguments) - offsetof(QMPIX_Call, context),
               "the first members of a callback differ from those of QMPIX_Call");

/* The callbacks of a run in the order of the calls: the `count` elements before `end`. There is at
 * least one, that of the lowest layer, which may do nothing. */
struct run_callbacks {
    const struct run_callback *end;
    size_t count;
};

/* A run of several layers, or of one that asks for the time or did not request the function. */
struct run {
    QMPIX_Observer observer; /* the first member, because a node points to it; it has the flags of
                                all layers */
    struct run_callbacks before, after;
    int layers;
    struct run_memory *memory;
};

/* ---- Work of a run before and after a call --------------------------------------------------- */

/* Reads the clock. Nothing that callbacks do may be moved between the two readings. */
static inline uint64_t read_clock(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const uint64_t now = qmpi_clock_now();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return now;
}

/* Stores the time atomically, because other threads may read it: see
 * QMPIX_Call_get_begin_address. */
static inline void set_begin(struct qmpi_record *record, uint64_t ticks)
{
    __atomic_store_n(&record->begin, ticks, __ATOMIC_RELEASE);
}

/* Writes the context and the observer of a callback into the record, and calls it. */
static inline void call_one(struct qmpi_record *record, const struct run_callback *callback)
{
    memcpy(&record->call.context, callback, offsetof(struct run_callback, function));
    callback->function(&record->call, (QMPIX_Word *)(void *)((char *)record + callback->word));
}

/* Calls all callbacks. A loop would take two more instructions for each of them. */
__attribute__((always_inline)) static inline void call_all(struct qmpi_record *record,
                                                           const struct run_callbacks *callbacks)
{
    const struct run_callback *end = callbacks->end;
    _Static_assert(QMPI_RUN_MAX == 10, "there is a case for each number of layers");
    switch (callbacks->count) {
    case 10:
        call_one(record, end - 10);
        __attribute__((fallthrough));
    case 9:
        call_one(record, end - 9);
        __attribute__((fallthrough));
    case 8:
        call_one(record, end - 8);
        __attribute__((fallthrough));
    case 7:
        call_one(record, end - 7);
        __attribute__((fallthrough));
    case 6:
        call_one(record, end - 6);
        __attribute__((fallthrough));
    case 5:
        call_one(record, end - 5);
        __attribute__((fallthrough));
    case 4:
        call_one(record, end - 4);
        __attribute__((fallthrough));
    case 3:
        call_one(record, end - 3);
        __attribute__((fallthrough));
    case 2:
        call_one(record, end - 2);
        __attribute__((fallthrough));
    case 1:
        call_one(record, end - 1);
        return;
    default:
        __builtin_unreachable();
    }
}

/* Calls the callbacks for a function that completes requests. Only the layers that asked for the
 * requests see them. */
static void call_completing(struct qmpi_record *record, const struct run_callbacks *callbacks)
{
    const MPI_Request *const requests = record->call.requests;
    const int request_count = record->call.request_count;
    const struct run_callback *callback = callbacks->end - callbacks->count;
    for (; callback < callbacks->end; callback++) {
        const bool wanted = callback->observer->flags & QMPIX_OBSERVE_REQUESTS;
        record->call.requests = wanted ? requests : NULL;
        record->call.request_count = wanted ? request_count : 0;
        call_one(record, callback);
    }
    record->call.requests = requests;
    record->call.request_count = request_count;
}

/* Clears two words at a time, because the instruction that compilers use for memset takes longer
 * than all callbacks. */
typedef long long two_words __attribute__((vector_size(16), aligned(8), may_alias));

static inline void clear_words(struct qmpi_record *record)
{
    for (int i = 0; i < QMPI_RUN_MAX; i += 2)
        *(two_words *)(record->words + i) = (two_words){0, 0};
}

static inline const struct run *run_of(const QMPIX_Call *call)
{
    return (const struct run *)call->observer;
}

static void run_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct run *run = run_of(call);
    struct qmpi_record *record = qmpi_record_of(call);
    (void)word;
    clear_words(record);
    call_all(record, &run->before);
    record->call.observer = &run->observer;
}

static void run_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    call_all(qmpi_record_of(call), &run_of(call)->after);
}

/* A run of two layers, each of which has both callbacks. A loop would cost more than the callbacks.
 * The first word is clear already. */
static void before_two(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct run *run = run_of(call);
    struct qmpi_record *record = qmpi_record_of(call);
    word[1].number = 0;
    call_one(record, run->before.end - 2);
    call_one(record, run->before.end - 1);
    record->call.observer = &run->observer;
}

static void after_two(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct run_callback *end = run_of(call)->after.end;
    struct qmpi_record *record = qmpi_record_of(call);
    (void)word;
    call_one(record, end - 2);
    call_one(record, end - 1);
}

static void before_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct qmpi_record *record = qmpi_record_of(call);
    set_begin(record, 0);
    run_before(call, word);
    set_begin(record, read_clock());
}

static void after_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    qmpi_record_of(call)->end = read_clock();
    run_after(call, word);
}

static void before_two_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct qmpi_record *record = qmpi_record_of(call);
    set_begin(record, 0);
    before_two(call, word);
    set_begin(record, read_clock());
}

static void after_two_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    qmpi_record_of(call)->end = read_clock();
    after_two(call, word);
}

/* A run of one layer: the record already contains the context of the layer, and the observer of the
 * run has the `data` of the layer. */
static void before_one_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct qmpi_record *record = qmpi_record_of(call);
    set_begin(record, 0);
    run_of(call)->before.end[-1].function(call, word);
    set_begin(record, read_clock());
}

/* A separate function, so that its caller needs no frame. */
__attribute__((noinline)) static void after_one_timed_any(const QMPIX_Call *call, QMPIX_Word *word)
{
    qmpi_record_of(call)->end = read_clock();
    run_of(call)->after.end[-1].function(call, word);
}

static void after_one_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    if (__builtin_expect(!qmpi_clock_is_counter, 0)) {
        after_one_timed_any(call, word);
        return;
    }
    qmpi_record_of(call)->end = read_clock();
    run_of(call)->after.end[-1].function(call, word);
}

/* The general versions, for all that layers can request. */
static void before_any(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct run *run = run_of(call);
    struct qmpi_record *record = qmpi_record_of(call);
    const bool completes = qmpi_semantics_of(call)->shape == QMPI_SHAPE_COMPLETE;
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
    const struct run *run = run_of(call);
    struct qmpi_record *record = qmpi_record_of(call);
    const bool completes = qmpi_semantics_of(call)->shape == QMPI_SHAPE_COMPLETE;
    (void)word;
    if (run->observer.flags & QMPIX_OBSERVE_TIME)
        record->end = read_clock();
    (completes ? call_completing : call_all)(record, &run->after);
}

static void choose_callbacks(struct run *run, int number)
{
    const bool timed = run->observer.flags & QMPIX_OBSERVE_TIME;
    const bool one = run->layers == 1;
    const bool two = run->layers == 2 && run->before.count == 2 && run->after.count == 2;
    const bool completes = !one && qmpi_meanings[number].shape == QMPI_SHAPE_COMPLETE;
    if (completes || run->observer.flags & QMPIX_OBSERVE_ENTRY_TIME) {
        run->observer.before = before_any;
        run->observer.after = after_any;
    } else if (timed) {
        run->observer.before = one ? before_one_timed : two ? before_two_timed : before_timed;
        run->observer.after = one ? after_one_timed : two ? after_two_timed : after_timed;
    } else if (two) {
        run->observer.before = before_two;
        run->observer.after = after_two;
    } else {
        run->observer.before = run_before;
        run->observer.after = run_after;
    }
}

/* ---- Making runs ----------------------------------------------------------------------------- */

/*
 * The callbacks of several runs. A run consists of the run below and one more layer, whose
 * callbacks it adds to those of the run below, so that all these runs share the memory. If a layer
 * is switched, the new run over the same lower layers gets memory of its own.
 */
struct run_memory {
    size_t capacity;                 /* number of callbacks of each kind */
    size_t used_before, used_after;  /* `before` is filled from the end, `after` from the
                                        beginning */
    struct run_callback callbacks[]; /* `before` of `capacity` layers, then `after` */
};

/* [tool_id]: the number of nodes that were made, and how many of these form a run with the next
 * node. */
static int nodes_made[QMPI_LAYERS_MAX + 1], nodes_combined[QMPI_LAYERS_MAX + 1];

static const QMPIX_Observer *observer_of_layer(QMPI_Context node)
{
    return &qmpi_observers[node->tool_id];
}

/* Returns the run of a node; NULL: the node has the layer's own observer. */
static const struct run *run_of_node(QMPI_Context node)
{
    const QMPIX_Observer *observer = qmpi_record_observer(node);
    return observer == observer_of_layer(node) ? NULL : (const struct run *)observer;
}

static bool is_observer(QMPI_Context node)
{
    return node->function == qmpi_observing[node->function_id];
}

static int layers_of(QMPI_Context node)
{
    const struct run *run = run_of_node(node);
    return run ? run->layers : 1;
}

/* Whether the layer of `node` can form a run with the layers of `next`. */
static bool can_combine(QMPI_Context node, QMPI_Context next)
{
    /* A node of the validation, whose observer has QMPIX_OBSERVE_ACTS, is not part of a run. */
    if (!is_observer(next) || qmpi_record_observer(next)->flags & QMPIX_OBSERVE_ACTS ||
        layers_of(next) == QMPI_RUN_MAX)
        return false;
    const struct qmpi_semantics *meaning = &qmpi_meanings[node->function_id];
    const unsigned lower = qmpi_record_observer(next)->flags,
                   upper = observer_of_layer(node)->flags;
    const bool gets_status =
        meaning->shape != QMPI_SHAPE_NONE && (meaning->status || meaning->statuses);
    return !gets_status || !(lower & QMPIX_OBSERVE_STATUSES) || (upper & QMPIX_OBSERVE_STATUSES);
}

static struct run_memory *new_memory(void)
{
    const size_t layers = (size_t)QMPIX_stack.layers;
    const size_t capacity = layers < QMPI_RUN_MAX ? layers : QMPI_RUN_MAX;
    struct run_memory *memory =
        qmpi_memory_permanent(1, sizeof *memory + 2 * capacity * sizeof *memory->callbacks);
    memory->capacity = capacity;
    return memory;
}

/* Moves the callbacks of `run` to other memory, unless the run was the last one added to its
 * memory. */
static void reserve_memory(struct run *run)
{
    struct run_memory *memory = run->memory;
    const size_t before = run->before.count, after = run->after.count;
    if (!memory || memory->used_before != before || memory->used_after != after) {
        memory = new_memory();
        struct run_callback *middle = memory->callbacks + memory->capacity;
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

/* Puts a layer on top of `run`. The first layer gets both callbacks, so that neither list is
 * empty. */
static void add_layer(struct run *run, QMPI_Context node)
{
    const QMPIX_Observer *observer = observer_of_layer(node);
    const bool wanted = is_requested(node);
    const bool first = !run->layers;
    struct run_callback callback = {.context = node,
                                    .observer = observer,
                                    .word = offsetof(struct qmpi_record, words) +
                                            (size_t)run->layers * sizeof(QMPIX_Word)};
    reserve_memory(run);
    struct run_memory *memory = run->memory;
    struct run_callback *middle = memory->callbacks + memory->capacity;
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

static void set_record_head(struct qmpi_node *node)
{
    const int number = node->node.function_id;
    struct qmpi_record_head *head = qmpi_memory_permanent(1, sizeof *head);
    *head = (struct qmpi_record_head){.head = {qmpi_observing_first[number]},
                                      .function = &qmpi_described[number],
                                      .context = &node->node,
                                      .observer = node->observer};
    node->trampoline = &head->head;
}

/* Returns a run that consists of the layer of `node` only. All functions share it, unless its
 * callbacks write the context of the node into the record: before_any does so (for the entry time),
 * and run_before (for a function that the observer did not request). */
static const struct run *run_of_one(QMPI_Context node, bool wanted)
{
    static const struct run *shared[QMPI_LAYERS_MAX + 1]; /* [tool_id] */
    const QMPIX_Observer *observer = observer_of_layer(node);
    const bool shares = wanted && !(observer->flags & QMPIX_OBSERVE_ENTRY_TIME);
    if (shares && shared[node->tool_id])
        return shared[node->tool_id];
    struct run *run = qmpi_memory_permanent(1, sizeof *run);
    run->observer = *observer; /* the callbacks of a single layer receive this observer */
    run->observer.flags = 0;
    add_layer(run, node);
    choose_callbacks(run, node->function_id);
    if (shares)
        shared[node->tool_id] = run;
    return run;
}

/* Returns the observer for the node: the layer's own one if it suffices, otherwise that of a
 * run. */
static const QMPIX_Observer *choose_observer(QMPI_Context node, bool combines)
{
    const QMPIX_Observer *observer = observer_of_layer(node);
    const bool wanted = is_requested(node);
    if (!combines && wanted && !(observer->flags & READS_CLOCK))
        return observer;
    if (!combines)
        return &run_of_one(node, wanted)->observer;
    struct run *run = qmpi_memory_permanent(1, sizeof *run);
    const struct run *lower = run_of_node(node->next);
    if (lower && lower->layers > 1)
        *run = *lower;
    else
        add_layer(run, node->next);
    add_layer(run, node);
    choose_callbacks(run, node->function_id);
    return &run->observer;
}

void qmpi_observe_node(struct qmpi_node *node)
{
    const QMPI_Context context = &node->node;
    const bool combines = can_combine(context, context->next);
    nodes_made[context->tool_id]++;
    nodes_combined[context->tool_id] += combines;
    node->observer = choose_observer(context, combines);
    set_record_head(node);
}

void qmpi_observe_report(int tool_id)
{
    if (nodes_made[tool_id])
        qmpi_debug(QMPI_TOPIC_CHAIN,
                   "layer %d observes %d functions, %d of them in a run with the layer below",
                   tool_id, nodes_made[tool_id], nodes_combined[tool_id]);
}
