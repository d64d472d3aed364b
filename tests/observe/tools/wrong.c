/* SPDX-License-Identifier: MIT */
/*
 * Registers observers wrongly, calls helper functions wrongly, and prints the results: `wrong WHAT
 * CLASS`. It observes a few functions, in whose callbacks it makes further wrong calls.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

static const char *class_text(int error)
{
    return error == MPI_SUCCESS     ? "success"
           : error == MPI_ERR_ARG   ? "argument"
           : error == MPI_ERR_OTHER ? "other"
                                    : "?";
}

#define NOTE(what, call) trace("wrong %s %s", what, class_text(call))

static void ignore(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)call;
    (void)word;
    trace("wrong observer was called");
}

static void each(void *data, const QMPIX_Transfer *transfer)
{
    (void)data;
    (void)transfer;
}

/* The outputs have certain values first, which an error must not change. */
static void ask_wrongly(const QMPIX_Call *call)
{
    MPI_Count sent = 77;
    MPI_Comm comm;
    MPI_Request request;
    int number = 77, index = 77;
    void *caller = NULL;
    NOTE("bytes of NULL", QMPIX_Call_get_bytes(NULL, &sent, &sent));
    NOTE("transfers of NULL", QMPIX_Call_for_each_transfer(NULL, each, NULL));
    NOTE("transfers to NULL", QMPIX_Call_for_each_transfer(call, NULL, NULL));
    NOTE("neighbors of NULL", QMPIX_Call_for_each_neighbor(NULL, each, NULL));
    NOTE("neighbors to NULL", QMPIX_Call_for_each_neighbor(call, NULL, NULL));
    NOTE("comm of NULL", QMPIX_Call_get_comm(NULL, &comm));
    NOTE("comm to NULL", QMPIX_Call_get_comm(call, NULL));
    NOTE("root of NULL", QMPIX_Call_get_root(NULL, &number));
    NOTE("root to NULL", QMPIX_Call_get_root(call, NULL));
    NOTE("root of none", QMPIX_Call_get_root(call, &number));
    NOTE("peer of NULL", QMPIX_Call_get_peer(NULL, &number, &number, &number));
    NOTE("started of NULL", QMPIX_Call_get_started(NULL, 1, &request, &number));
    NOTE("started to NULL", QMPIX_Call_get_started(call, 1, &request, NULL));
    NOTE("started into NULL", QMPIX_Call_get_started(call, 1, NULL, &number));
    NOTE("started into less than nothing", QMPIX_Call_get_started(call, -1, &request, &number));
    NOTE("completed of NULL", QMPIX_Call_get_completed(NULL, 1, &request, &number));
    NOTE("completed to NULL", QMPIX_Call_get_completed(call, 1, &request, NULL));
    NOTE("argument of NULL", QMPIX_Call_find_argument(NULL, "comm", &index));
    NOTE("argument without name", QMPIX_Call_find_argument(call, NULL, &index));
    NOTE("argument to NULL", QMPIX_Call_find_argument(call, "comm", NULL));
    QMPIX_Binding binding = QMPIX_BINDING_F08;
    NOTE("binding of NULL", QMPIX_Call_get_binding(NULL, &binding));
    NOTE("binding to NULL", QMPIX_Call_get_binding(call, NULL));
    NOTE("binding of no context", QMPIX_Context_get_binding(NULL, &binding));
    NOTE("caller of NULL", QMPIX_Call_get_caller(NULL, &caller));
    NOTE("caller to NULL", QMPIX_Call_get_caller(call, NULL));
    if (sent != 77 || number != 77 || index != 77 || caller)
        trace("wrong outputs are set");
}

static void ask_for_ranks(const char *when)
{
    int world = 77;
    trace("wrong ranks %s", when);
    NOTE("world rank in MPI_COMM_WORLD", QMPIX_Comm_world_rank(MPI_COMM_WORLD, 0, &world));
    NOTE("world rank in MPI_COMM_NULL", QMPIX_Comm_world_rank(MPI_COMM_NULL, 0, &world));
    NOTE("world rank to NULL", QMPIX_Comm_world_rank(MPI_COMM_WORLD, 0, NULL));
    trace("wrong world rank is %d", world);
}

static void ask_for_no_rank(const char *what, int rank)
{
    int world = 77;
    const int error = QMPIX_Comm_world_rank(MPI_COMM_WORLD, rank, &world);
    trace("wrong world rank of %s %s %s", what, class_text(error),
          error                    ? (world == 77 ? "unset" : "set")
          : world == MPI_UNDEFINED ? "undefined"
                                   : "?");
}

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    if (call->function->number == MPI_INIT_T)
        ask_for_ranks("before MPI_Init");
    if (call->function->number != MPI_COMM_RANK_T)
        return;
    const QMPIX_Observer observer = {.size = sizeof observer, .before = ignore};
    NOTE("registering in a call", QMPIX_Register_tool_observer(call->context->tool_id, &observer));
    ask_wrongly(call);
    ask_for_ranks("in MPI_Comm_rank");
    ask_for_no_rank("MPI_PROC_NULL", MPI_PROC_NULL);
    ask_for_no_rank("MPI_ANY_SOURCE", MPI_ANY_SOURCE);
    ask_for_no_rank("rank 99", 99);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    (void)word;
    if (call->function->number == MPI_FINALIZE_T)
        ask_for_ranks("after MPI_Finalize");
}

static void register_wrongly(int tool_id)
{
    static const enum QMPI_Functions_enum beyond[] = {MPI_SEND_T,
                                                      (enum QMPI_Functions_enum)1000000};
    const QMPIX_Observer good = {.size = sizeof good, .before = ignore, .after = ignore};
    QMPIX_Observer bad = good;
    NOTE("NULL", QMPIX_Register_tool_observer(tool_id, NULL));
    bad.size = 0;
    NOTE("no size", QMPIX_Register_tool_observer(tool_id, &bad));
    bad.size = sizeof bad - 1;
    NOTE("too small", QMPIX_Register_tool_observer(tool_id, &bad));
    bad = good;
    bad.flags = 1U << 20;
    NOTE("unknown flags", QMPIX_Register_tool_observer(tool_id, &bad));
    bad = good;
    bad.groups = 1U << 20;
    NOTE("unknown groups", QMPIX_Register_tool_observer(tool_id, &bad));
    bad = good;
    bad.function_count = 2;
    NOTE("no array", QMPIX_Register_tool_observer(tool_id, &bad));
    bad.functions = beyond;
    NOTE("function out of range", QMPIX_Register_tool_observer(tool_id, &bad));
    bad.function_count = -1;
    NOTE("less than no functions", QMPIX_Register_tool_observer(tool_id, &bad));
    NOTE("tool_id 0", QMPIX_Register_tool_observer(0, &good));
    NOTE("tool_id -1", QMPIX_Register_tool_observer(-1, &good));
    NOTE("tool_id 1000", QMPIX_Register_tool_observer(1000, &good));
    if (tool_id == 1)
        NOTE("another layer", QMPIX_Register_tool_observer(2, &good));
}

static void init(int tool_id)
{
    static const enum QMPI_Functions_enum functions[] = {MPI_INIT_T, MPI_COMM_RANK_T, MPI_SEND_T,
                                                         MPI_FINALIZE_T};
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .before = before,
                                     .after = after,
                                     .functions = functions,
                                     .function_count = 4};
    register_wrongly(tool_id);
    NOTE("nothing", QMPIX_Register_tool_observer(tool_id, &observer));
}

__attribute__((constructor)) static void register_tool(void)
{
    const QMPIX_Observer observer = {.size = sizeof observer, .before = ignore};
    NOTE("too early", QMPIX_Register_tool_observer(1, &observer));
    QMPI_Register_tool_name("wrong", init);
}
