/* SPDX-License-Identifier: MIT */
/*
 * See record.h. All that is noted of a call is noted when it has returned: then what it was given
 * is known to be right, statuses are there, and `word` need hold nothing but whether it counts.
 */
#include "record/record.h"

#include "record/control.h"
#include "record/describe.h"
#include "record/note.h"
#include "record/receives.h"
#include "record/ticks.h"
#include "toolkit/toolkit.h"

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* Also while profiling is off: whether a rank waits must not hang on what another one switched. */
static uint64_t wait_for_others(const QMPIX_Call *call, struct flight *flight, bool counted,
                                int argument)
{
    const MPI_Comm comm = *(const MPI_Comm *)call->arguments[argument];
    if (comm == MPI_COMM_NULL)
        return 0;
    const uint64_t begin = ticks_now();
    if (flight && counted)
        flights_publish_since(flight, FLIGHT_WAITS, begin);
    PMPI_Barrier(comm);
    return ticks_now() - begin;
}

/* A call of which there is more to do than to note that it begins. */
__attribute__((noinline)) static void begin_specially(struct layer *layer,
                                                      struct thread_level *level,
                                                      const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct traits *traits = &traits_all[call->function->number];
    if (traits->is_controlled && control_before(layer, call, word))
        return;
    struct thread *thread = threads_at(level, layer->tool_id, layer->options.depth);
    const bool counted = thread && record_counts(layer, traits);
    const bool completes = traits->receives == RECEIVES_COMPLETES;
    struct flight *flight =
        thread && (counted || completes) ? flights_begin(&thread->flights, word) : NULL;
    if (flight && counted)
        record_describe(layer, thread, flight, call);
    if (flight && completes)
        receives_hold(layer, flight, call);
    if (traits->receives == RECEIVES_FREES)
        receives_forget(layer, call);
    if (layer->options.sync && traits->waits) {
        const uint64_t wait = wait_for_others(call, flight, counted, traits->comm);
        if (flight)
            flights_wait(flight, wait);
    }
    if (!counted)
        return;
    word->number = 1;
    if (flight)
        flights_publish_run(flight, call, word);
}

static inline void begin(struct layer *layer, struct thread_level *level, const QMPIX_Call *call,
                         QMPIX_Word *word)
{
    if (!atomic_load_explicit(&layer->regions.on, memory_order_relaxed))
        return;
    struct thread *thread = threads_at(level, layer->tool_id, layer->options.depth);
    if (__builtin_expect(!thread, 0))
        return;
    struct flight *flight = flights_begin(&thread->flights, word);
    word->number = 1;
    if (__builtin_expect(flight != NULL, 1)) {
        record_describe(layer, thread, flight, call);
        flights_publish_run(flight, call, word);
    }
}

__attribute__((noinline)) static void end_specially(struct layer *layer, struct thread_level *level,
                                                    const QMPIX_Call *call, const QMPIX_Word *word,
                                                    uint64_t time)
{
    const struct traits *traits = &traits_all[call->function->number];
    const bool counted = word->number != 0, completes = traits->receives == RECEIVES_COMPLETES;
    struct thread *thread = threads_at(level, layer->tool_id, layer->options.depth);
    struct flight *flight = thread ? flights_end(&thread->flights, word) : NULL;
    if (flight && completes)
        receives_complete(layer, thread, flight, call);
    if (thread && counted)
        note(layer, thread, call, word, flight, time);
    if (thread && traits->receives == RECEIVES_MAKES && *(const int *)call->result == MPI_SUCCESS)
        receives_add(layer, call);
    if (traits->is_controlled)
        control_after(layer, call, word, counted, time);
}

static inline void end(struct layer *layer, struct thread_level *level, const QMPIX_Call *call,
                       const QMPIX_Word *word, uint64_t time)
{
    struct thread *thread = threads_at(level, layer->tool_id, layer->options.depth);
    if (__builtin_expect(thread && word->number, 1))
        note(layer, thread, call, word, flights_end(&thread->flights, word), time);
}

void observe_before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct thread_level *level = thread_level_enter_at(word);
    struct layer *layer = call->observer->data;
    if (traits_all[call->function->number].begins_simply)
        begin(layer, level, call, word);
    else
        begin_specially(layer, level, call, word);
    thread_level_leave(level);
}

void observe_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    uint64_t begin = 0, ended = 0;
    QMPIX_Call_get_time(call, &begin, &ended);
    const uint64_t time = ended > begin ? ended - begin : 0;
    struct thread_level *level = thread_level_enter_at(word);
    struct layer *layer = call->observer->data;
    if (traits_all[call->function->number].ends_simply)
        end(layer, level, call, word, time);
    else
        end_specially(layer, level, call, word, time);
    thread_level_leave(level);
}
