/* SPDX-License-Identifier: MIT */
/*
 * `before` stores the number of the call in the word, which `after` must find unchanged, even if
 * calls are nested. In `before` of MPI_Barrier, the tool calls MPI_Comm_rank, which enters the
 * stack at the top. In MPI_Finalize, it prints how many words were lost or not empty at first, and
 * how many calls had no caller's address or were nested.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

#include <stdatomic.h>

static atomic_ullong calls, lost, dirty, without_caller, nested;
static _Thread_local unsigned long long open_calls[64];
static _Thread_local int depth;

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    void *caller = NULL;
    if (word->number || word->pointer)
        dirty++;
    if (QMPIX_Call_get_caller(call, &caller) != MPI_SUCCESS || !caller)
        without_caller++;
    word->number = ++calls;
    open_calls[depth++ % 64] = word->number;
    if (depth > 1)
        nested++;
    if (call->function->number == MPI_BARRIER_T && depth < 3) {
        int rank;
        MPI_Comm_rank(MPI_COMM_SELF, &rank);
    }
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    if (word->number != open_calls[--depth % 64])
        lost++;
    if (call->function->number != MPI_FINALIZE_T)
        return;
    trace("word %d lost %llu dirty %llu without caller %llu nested %llu", call->context->tool_id,
          (unsigned long long)lost, (unsigned long long)dirty, (unsigned long long)without_caller,
          (unsigned long long)nested);
}

static void init(int tool_id)
{
    static const QMPIX_Observer observer = {
        .size = sizeof observer, .before = before, .after = after};
    QMPIX_Register_tool_observer(tool_id, &observer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("word", init);
}
