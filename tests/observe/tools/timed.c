/* SPDX-License-Identifier: MIT */
/*
 * An observer of MPI_Barrier that prints the times of each call in ticks. Options:
 *   time, entry, acts   flags of the observer
 *   sleep=MS            each callback takes this many milliseconds
 *   intercept=MS        an interceptor of MPI_Barrier takes this many milliseconds
 *   nested              `before` also calls the layers below
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct timed {
    long sleep, intercept;
    int nested;
};

static _Thread_local int within; /* this thread is in a call that `nested` makes */

static void take(long milliseconds)
{
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (milliseconds && nanosleep(&left, &left))
        continue;
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct timed *timed = call->observer->data;
    const uint64_t *place = NULL;
    uint64_t begin = 0, end = 0, entry = 0;
    const int by_address = QMPIX_Call_get_begin_address(call, &place);
    const int by_entry = QMPIX_Call_get_entry_time(call, &entry);
    trace("before %d time %d address %d distance %td begin %llu entry %d %llu",
          call->context->tool_id, QMPIX_Call_get_time(call, &begin, &end), by_address,
          place ? (const char *)place - (const char *)call : 0,
          place ? (unsigned long long)*place : 0, by_entry, (unsigned long long)entry);
    word->pointer = (void *)(uintptr_t)place;
    take(timed->sleep);
    if (timed->nested && !within) {
        within = 1;
        QMPIX_NEXT(call->context, Barrier)
        (QMPIX_NEXT_CONTEXT(call->context), *(const MPI_Comm *)call->arguments[0]);
        within = 0;
    }
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    const struct timed *timed = call->observer->data;
    const uint64_t *place = word->pointer;
    uint64_t begin = 0, end = 0, entry = 0;
    const int by_time = QMPIX_Call_get_time(call, &begin, &end);
    const int by_entry = QMPIX_Call_get_entry_time(call, &entry);
    trace("after %d time %d begin %llu end %llu same %d entry %d %llu", call->context->tool_id,
          by_time, (unsigned long long)begin, (unsigned long long)end, place && *place == begin,
          by_entry, (unsigned long long)entry);
    take(timed->sleep);
}

static int my_Barrier(QMPI_Context context, MPI_Comm comm)
{
    void *storage = NULL;
    QMPI_Context_get_storage(context, context->tool_id, &storage);
    take(((const struct timed *)storage)->intercept);
    return QMPIX_NEXT(context, Barrier)(QMPIX_NEXT_CONTEXT(context), comm);
}

static long number_of(int tool_id, const char *option)
{
    const char *value;
    if (QMPIX_Tool_get_option(tool_id, option, &value) != MPI_SUCCESS)
        return 0;
    return strcmp(value, "yes") ? atol(value) : 1;
}

static void init(int tool_id)
{
    static const enum QMPI_Functions_enum barrier = MPI_BARRIER_T;
    struct timed *timed = calloc(1, sizeof *timed);
    if (!timed)
        abort();
    *timed = (struct timed){.sleep = number_of(tool_id, "sleep"),
                            .intercept = number_of(tool_id, "intercept"),
                            .nested = number_of(tool_id, "nested") != 0};
    const QMPIX_Observer observer = {
        .size = sizeof observer,
        .before = before,
        .after = after,
        .data = timed,
        .functions = &barrier,
        .function_count = 1,
        .flags = (number_of(tool_id, "time") ? QMPIX_OBSERVE_TIME : 0U) |
                 (number_of(tool_id, "entry") ? QMPIX_OBSERVE_ENTRY_TIME : 0U) |
                 (number_of(tool_id, "acts") ? QMPIX_OBSERVE_ACTS : 0U)};
    QMPI_Register_tool_storage(tool_id, timed);
    if (timed->intercept)
        QMPI_Register_tool_function(tool_id, MPI_BARRIER_T, (void (*)(void))my_Barrier);
    if (QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "no observer\nhint: none");
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("timed", init);
}
