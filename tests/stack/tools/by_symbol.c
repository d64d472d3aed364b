/* SPDX-License-Identifier: MIT */
/*
 * A tool that uses no inline functions of the headers, like a tool in another language. Instead, it
 * looks up the symbols that libqmpi exports for these functions. It intercepts and observes
 * MPI_Comm_rank.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

#include <dlfcn.h>
#include <stdint.h>

static int (*get_function)(int, enum QMPI_Functions_enum, void (**)(void), QMPI_Context *);
static int (*get_storage)(QMPI_Context, int, void **);
static int (*get_tool_id)(QMPI_Context, int *);
static int (*get_caller)(const QMPIX_Call *, void **);

static int rank(QMPI_Context context, MPI_Comm comm, int *result)
{
    void *storage = NULL;
    void (*function)(void) = NULL;
    QMPI_Context next = NULL;
    int tool_id = 0;
    const int wrong = get_tool_id(NULL, &tool_id) == MPI_SUCCESS ||
                      get_storage(context, -1, &storage) == MPI_SUCCESS ||
                      get_function(256, MPI_COMM_RANK_T, &function, &next) == MPI_SUCCESS;
    if (wrong || get_tool_id(context, &tool_id) || get_storage(context, tool_id, &storage) ||
        get_function(tool_id, MPI_COMM_RANK_T, &function, &next))
        trace("by_symbol: a call failed, or succeeded where it must not");
    trace("by_symbol %d has %s", tool_id, (const char *)storage);
    return ((QMPI_Comm_rank_t *)function)(next, comm, result);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    void *caller = NULL;
    (void)word;
    trace("by_symbol caller %s", get_caller(call, &caller) == MPI_SUCCESS && caller &&
                                         get_caller(call, NULL) != MPI_SUCCESS
                                     ? "known"
                                     : "unknown");
}

static void init(int tool_id)
{
    static const enum QMPI_Functions_enum functions[] = {MPI_COMM_RANK_T};
    const QMPIX_Observer observer = {
        .size = sizeof observer, .after = after, .functions = functions, .function_count = 1};
    *(void **)&get_function = dlsym(RTLD_DEFAULT, "QMPIX_Get_function");
    *(void **)&get_storage = dlsym(RTLD_DEFAULT, "QMPI_Context_get_storage");
    *(void **)&get_tool_id = dlsym(RTLD_DEFAULT, "QMPIX_Context_get_tool_id");
    *(void **)&get_caller = dlsym(RTLD_DEFAULT, "QMPIX_Call_get_caller");
    if (!get_function || !get_storage || !get_tool_id || !get_caller)
        QMPIX_Tool_fail(tool_id, "a symbol is missing");
    QMPI_Register_tool_storage(tool_id, (void *)(uintptr_t) "its own");
    QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))rank);
    QMPIX_Register_tool_observer(tool_id, &observer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("by_symbol", init);
}
