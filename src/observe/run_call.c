/* SPDX-License-Identifier: MIT */
/* See run.h: what a run does before and after a call. */
#include "observe/run.h"

#include "clock/clock.h"
#include "observe/semantics.h"

#include <string.h>

/* The time between the readings is that of the call: nothing of what the callbacks do may be
 * moved there. */
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

/* Without a loop, which takes two more instructions for each. */
__attribute__((always_inline)) static inline void call_all(struct qmpi_record *record,
                                                           const struct qmpi_callbacks *callbacks)
{
    const struct qmpi_callback *end = callbacks->end;
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

/* The same in functions that complete requests, which only some layers have asked for. */
static void call_completing(struct qmpi_record *record, const struct qmpi_callbacks *callbacks)
{
    const MPI_Request *const requests = record->call.requests;
    const int request_count = record->call.request_count;
    const struct qmpi_callback *callback = callbacks->end - callbacks->count;
    for (; callback < callbacks->end; callback++) {
        const bool wanted = callback->observer->flags & QMPIX_OBSERVE_REQUESTS;
        record->call.requests = wanted ? requests : NULL;
        record->call.request_count = wanted ? request_count : 0;
        call_one(record, callback);
    }
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

/* The same for two layers that have both callbacks: a loop costs more than they do. */
static void before_two(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct qmpi_run *run = run_of(call);
    struct qmpi_record *record = qmpi_record_of(call);
    word[1].number = 0;
    call_one(record, run->before.end - 2);
    call_one(record, run->before.end - 1);
    record->call.observer = &run->observer;
}

static void after_two(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct qmpi_callback *end = run_of(call)->after.end;
    struct qmpi_record *record = qmpi_record_of(call);
    (void)word;
    call_one(record, end - 2);
    call_one(record, end - 1);
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

/* The same for one layer: its context is in the record, and the observer has its data. */
static void before_one_timed(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct qmpi_record *record = qmpi_record_of(call);
    set_begin(record, 0);
    run_of(call)->before.end[-1].function(call, word);
    set_begin(record, read_clock());
}

/* Apart, so that the other function needs no frame. */
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

void qmpi_run_choose_callbacks(struct qmpi_run *run, int number)
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
        run->observer.before = before;
        run->observer.after = after;
    }
}
