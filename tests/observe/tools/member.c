/* SPDX-License-Identifier: MIT */
/*
 * An observer for tests of runs of adjacent observers. Each callback prints the word that it finds,
 * the number of requests in the record, and whether the call's status is given, ignored, or none
 * because there is no such argument. `before` stores the tool_id in the word.
 *
 * Options:
 *   only=before, only=after                 has only this callback
 *   acts, statuses, requests, time, entry   flags of the observer
 *   intercept                               also intercepts MPI_Barrier
 *   few       observes only MPI_Barrier, MPI_Start and MPI_Mrecv
 *   nested    `before` of MPI_Barrier also calls the layers below
 *   quiet     prints nothing but one line in MPI_Finalize: how often each callback was called, and
 *             how often one of them got a wrong context, observer or word
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct member {
    int tool_id;
    int nested, quiet;
    atomic_ullong before, after, wrong;
};

static _Thread_local int within; /* this thread is in a call that `nested` makes */

static struct member *check(const QMPIX_Call *call, const QMPIX_Word *word,
                            unsigned long long expected)
{
    struct member *member = call->observer->data;
    const struct QMPIX_Observer *observer = call->observer;
    if (call->context->tool_id != member->tool_id || observer->size != sizeof *observer ||
        call->context->function_id != (int)call->function->number || word->number != expected)
        member->wrong++;
    return member;
}

static const char *status_text(const QMPIX_Call *call)
{
    int index;
    if (QMPIX_Call_find_argument(call, "status", &index) == MPI_SUCCESS)
        return *(MPI_Status *const *)call->arguments[index] == MPI_STATUS_IGNORE ? "ignored"
                                                                                 : "given";
    if (QMPIX_Call_find_argument(call, "array_of_statuses", &index) == MPI_SUCCESS)
        return *(MPI_Status *const *)call->arguments[index] == MPI_STATUSES_IGNORE ? "ignored"
                                                                                   : "given";
    return "none";
}

static void note(const QMPIX_Call *call, const char *when, unsigned long long word)
{
    if (call->observer->size != sizeof *call->observer)
        trace("member %d finds another observer", call->context->tool_id);
    trace("member %d %s %s word %llu requests %d%s status %s", call->context->tool_id, when,
          call->function->name, word, call->request_count, call->requests ? "" : " none",
          status_text(call));
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct member *member = check(call, word, 0);
    member->before++;
    if (!member->quiet)
        note(call, "before", word->number);
    word->number = (unsigned long long)member->tool_id;
    if (member->nested && call->function->number == MPI_BARRIER_T && !within) {
        within = 1;
        QMPIX_NEXT(call->context, Barrier)
        (QMPIX_NEXT_CONTEXT(call->context), *(const MPI_Comm *)call->arguments[0]);
        within = 0;
    }
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct member *member = call->observer->data;
    check(call, word, (unsigned long long)member->tool_id);
    member->after++;
    if (!member->quiet)
        note(call, "after", word->number);
    else if (call->function->number == MPI_FINALIZE_T)
        trace("member %d before %llu after %llu wrong %llu", member->tool_id,
              (unsigned long long)member->before, (unsigned long long)member->after,
              (unsigned long long)member->wrong);
}

static void only_after(const QMPIX_Call *call, QMPIX_Word *word)
{
    struct member *member = check(call, word, 0);
    member->after++;
    note(call, "after", word->number);
}

static int my_Barrier(QMPI_Context context, MPI_Comm comm)
{
    trace("member %d intercepts MPI_Barrier", context->tool_id);
    return QMPIX_NEXT(context, Barrier)(QMPIX_NEXT_CONTEXT(context), comm);
}

static int has(int tool_id, const char *option)
{
    const char *value;
    return QMPIX_Tool_get_option(tool_id, option, &value) == MPI_SUCCESS;
}

static void init(int tool_id)
{
    const char *only = "";
    struct member *member = calloc(1, sizeof *member);
    if (!member)
        abort();
    QMPIX_Tool_get_option(tool_id, "only", &only);
    member->tool_id = tool_id;
    member->nested = has(tool_id, "nested");
    member->quiet = has(tool_id, "quiet");
    const enum QMPI_Functions_enum few[] = {MPI_BARRIER_T, MPI_START_T, MPI_MRECV_T};
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .before = strcmp(only, "after") ? before : NULL,
                                     .after = !strcmp(only, "before")  ? NULL
                                              : !strcmp(only, "after") ? only_after
                                                                       : after,
                                     .data = member,
                                     .functions = few,
                                     .function_count = has(tool_id, "few") ? 3 : 0,
                                     .flags =
                                         (has(tool_id, "acts") ? QMPIX_OBSERVE_ACTS : 0U) |
                                         (has(tool_id, "statuses") ? QMPIX_OBSERVE_STATUSES : 0U) |
                                         (has(tool_id, "requests") ? QMPIX_OBSERVE_REQUESTS : 0U) |
                                         (has(tool_id, "entry") ? QMPIX_OBSERVE_ENTRY_TIME : 0U) |
                                         (has(tool_id, "time") ? QMPIX_OBSERVE_TIME : 0U)};
    QMPI_Register_tool_storage(tool_id, member);
    if (has(tool_id, "intercept"))
        QMPI_Register_tool_function(tool_id, MPI_BARRIER_T, (void (*)(void))my_Barrier);
    if (QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "no observer\nhint: none");
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("member", init);
}
